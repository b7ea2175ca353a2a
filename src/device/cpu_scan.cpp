// cpu_scan.cpp - cpu_backend::exclusive_scan in two sweeps: sums of parts, then each part from its own start. Sums are
// taken in unsigned arithmetic, so that overflow wraps around as on a GPU.
#include <algorithm>
#include <utility>
#include <vector>

#include "espalier/device/cpu.hpp"

namespace espalier {

namespace {

template <class T>
struct unsigned_of {
  using type = std::make_unsigned_t<T>;
};
template <>
struct unsigned_of<int128> {
  using type = uint128;
};

constexpr std::size_t least_part = std::size_t{1} << 15;

template <class T>
typename unsigned_of<T>::type sum(const T* in, std::size_t first, std::size_t last) {
  typename unsigned_of<T>::type total = 0;
  for (std::size_t i = first; i < last; ++i) total += static_cast<typename unsigned_of<T>::type>(in[i]);
  return total;
}

// Reads in[i] before it writes out[i]: in == out is allowed.
template <class T>
void scan(const T* in, T* out, std::size_t first, std::size_t last, typename unsigned_of<T>::type total) {
  for (std::size_t i = first; i < last; ++i) {
    const auto element = static_cast<typename unsigned_of<T>::type>(in[i]);
    out[i] = static_cast<T>(total);
    total += element;
  }
}

}  // namespace

template <class T>
void cpu_backend::exclusive_scan(const T* in, T* out, std::size_t n) const {
  const std::size_t parts = threads_ == 1 ? 1 : std::min<std::size_t>(n / least_part, 4 * std::size_t{threads_});
  if (parts < 2) {
    scan(in, out, 0, n, 0);
    return;
  }
  const std::size_t length = (n + parts - 1) / parts;
  std::vector<typename unsigned_of<T>::type> starts(parts);
  const auto begin = [=](std::size_t part) { return std::min(n, part * length); };
  for_each(
      parts, [&](std::size_t part) { starts[part] = sum(in, begin(part), begin(part + 1)); }, 1);
  typename unsigned_of<T>::type total = 0;
  for (auto& start : starts) total += std::exchange(start, total);
  for_each(
      parts, [&](std::size_t part) { scan(in, out, begin(part), begin(part + 1), starts[part]); }, 1);
}

template void cpu_backend::exclusive_scan(const std::uint64_t*, std::uint64_t*, std::size_t) const;
template void cpu_backend::exclusive_scan(const std::int64_t*, std::int64_t*, std::size_t) const;
template void cpu_backend::exclusive_scan(const int128*, int128*, std::size_t) const;

}  // namespace espalier
