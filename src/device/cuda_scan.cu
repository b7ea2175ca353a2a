// cuda_scan.cu - cuda_backend::exclusive_scan with CUB. Signed sums are computed as unsigned ones: the bits are the
// same, and overflow wraps around.
#include <algorithm>
#include <cub/device/device_scan.cuh>

#include "device/cub_version.cuh"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"

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

}  // namespace

template <class T>
void cuda_backend::exclusive_scan(const stream& s, const T* in, T* out, std::size_t n) const {
  if (n == 0) return;
  using word = typename unsigned_of<T>::type;
  const detail::device_guard guard(ordinal_);
  const stream order = device_.resolve(s);
  const auto* const from = reinterpret_cast<const word*>(in);
  auto* const to = reinterpret_cast<word*>(out);
  const char* const call = "cub::DeviceScan::ExclusiveSum";
  std::size_t bytes = 0;
  detail::check_cuda(cub::DeviceScan::ExclusiveSum(nullptr, bytes, from, to, n, native(order)), call);
  const raw_buffer scratch(device_, std::max<std::size_t>(bytes, 1), order);
  detail::check_cuda(cub::DeviceScan::ExclusiveSum(scratch.data(), bytes, from, to, n, native(order)), call);
}

template void cuda_backend::exclusive_scan(const stream&, const std::uint32_t*, std::uint32_t*, std::size_t) const;
template void cuda_backend::exclusive_scan(const stream&, const std::uint64_t*, std::uint64_t*, std::size_t) const;
template void cuda_backend::exclusive_scan(const stream&, const std::int64_t*, std::int64_t*, std::size_t) const;
template void cuda_backend::exclusive_scan(const stream&, const int128*, int128*, std::size_t) const;

}  // namespace espalier
