// dense_groups.cpp - see dense_groups.hpp.
#include "espalier/join/dense_groups.hpp"

#include <algorithm>
#include <atomic>
#include <type_traits>
#include <vector>

#include "join/side.hpp"

namespace espalier {

namespace {

using namespace join_detail;

constexpr std::size_t step_rows = 4096;  // between two checks of whether the range is too large

/// Whether all values are at least 0 and less than `limit`; if so, `bits` gets those of all of them. Values are
/// combined by OR, which is one vector instruction where unsigned maxima are not.
bool is_below(const cpu_backend& backend, std::span<const std::uint32_t> values, std::uint32_t limit,
              std::uint32_t& bits) {
  std::atomic<std::uint32_t> all{0};
  for_each_part(backend, parts_for(backend, values.size()), values.size(),
                [&](std::size_t, std::size_t first, std::size_t last) {
                  for (std::size_t from = first; from < last; from += step_rows) {
                    const std::size_t to = std::min(last, from + step_rows);
                    std::uint32_t some = 0;
                    for (std::size_t i = from; i < to; ++i) some |= values[i];
                    if ((all.fetch_or(some, std::memory_order_relaxed) | some) >= limit) return;
                  }
                });
  bits |= all.load();
  return bits < limit;
}

template <class T>
struct value_range {
  T least = std::numeric_limits<T>::max(), most = std::numeric_limits<T>::lowest();
  [[nodiscard]] bool is_empty() const { return most < least; }
  /// most - least, which has no overflow as an unsigned number.
  [[nodiscard]] std::uint64_t width() const {
    using word = std::make_unsigned_t<T>;
    return static_cast<word>(static_cast<word>(most) - static_cast<word>(least));
  }
};

/// The range of the values that are not NULL, or nothing if it has more than `limit` values.
template <class T>
std::optional<value_range<T>> range_of(const cpu_backend& backend, const column_view& column, std::uint32_t limit) {
  const auto* values = static_cast<const T*>(column.data);
  const std::size_t parts = parts_for(backend, column.size);
  std::vector<value_range<T>> found(parts);
  std::atomic<bool> is_large{false};
  for_each_part(backend, parts, column.size, [&](std::size_t part, std::size_t first, std::size_t last) {
    value_range<T> own;
    for (std::size_t from = first; from < last && !is_large.load(std::memory_order_relaxed); from += step_rows) {
      const std::size_t to = std::min(last, from + step_rows);
      for (std::size_t i = from; i < to; ++i) {
        if (column.validity && !column.validity[i]) continue;
        own.least = std::min(own.least, values[i]);
        own.most = std::max(own.most, values[i]);
      }
      if (!own.is_empty() && own.width() >= limit) is_large.store(true, std::memory_order_relaxed);
    }
    found[part] = own;
  });
  value_range<T> all;
  for (const value_range<T>& own : found) all = {std::min(all.least, own.least), std::max(all.most, own.most)};
  if (is_large.load() || (!all.is_empty() && all.width() >= limit)) return {};
  return all;
}

/// Distances from the least value of the range; no_group for NULLs and for values outside of the range.
template <class T>
buffer<std::uint32_t> distances(const cpu_backend& backend, const device& dev, const column_view& column,
                                const value_range<T>& range) {
  using word = std::make_unsigned_t<T>;
  const auto* values = static_cast<const T*>(column.data);
  buffer<std::uint32_t> codes(dev, column.size);
  std::uint32_t* const to = codes.data();
  const auto least = static_cast<word>(range.least);
  const auto groups = range.is_empty() ? word{0} : static_cast<word>(range.width() + 1);
  for_each_part(backend, parts_for(backend, column.size), column.size,
                [&](std::size_t, std::size_t first, std::size_t last) {
                  for (std::size_t i = first; i < last; ++i) {
                    const auto distance = static_cast<word>(static_cast<word>(values[i]) - least);
                    to[i] = distance < groups ? static_cast<std::uint32_t>(distance) : no_group;
                  }
                  for (std::size_t i = first; column.validity && i < last; ++i) {
                    if (!column.validity[i]) to[i] = no_group;
                  }
                });
  return codes;
}

template <class T>
std::optional<dense_groups> groups_of_type(const device& dev, const column_view& left, const column_view& right) {
  const cpu_backend backend(dev);
  const auto limit = static_cast<std::uint32_t>(std::clamp<std::size_t>(right.size, 64, most_dense_groups));
  dense_groups out;
  bool uses_right = false;  // as codes
  value_range<T> range;
  if constexpr (sizeof(T) == sizeof(std::uint32_t)) {
    const auto codes_in = [](const column_view& column) {
      return std::span(static_cast<const std::uint32_t*>(column.data), column.size);
    };
    std::uint32_t bits = 0;
    if (!right.validity && is_below(backend, codes_in(right), limit, bits)) {
      uses_right = true;
      range = {0, static_cast<T>(bits)};
      out.right = codes_in(right);
      if (!left.validity && is_below(backend, codes_in(left), limit, bits)) {
        out.left = codes_in(left);
        out.groups = bits + 1;
        return out;
      }
    }
  }
  if (!uses_right) {
    const auto found = range_of<T>(backend, right, limit);
    if (!found.has_value()) return {};
    range = *found;
    out.own_right = distances(backend, dev, right, range);
    out.right = out.own_right.span();
  }
  out.own_left = distances(backend, dev, left, range);
  out.left = out.own_left.span();
  out.groups = range.is_empty() ? 1 : static_cast<std::uint32_t>(range.width() + 1);
  return out;
}

}  // namespace

std::optional<dense_groups> dense_groups_of(const column_view& left, const column_view& right, const device& dev,
                                            const stream& s) {
  require_cpu("dense_groups_of()", dev);
  std::optional<dense_groups> out;
  if (left.kind != right.kind) return out;
  dev.invoke_in_order(dev.resolve(s), [&] {
    switch (right.kind) {
      case scalar_kind::i32:
        out = groups_of_type<std::int32_t>(dev, left, right);
        break;
      case scalar_kind::u32:
        out = groups_of_type<std::uint32_t>(dev, left, right);
        break;
      case scalar_kind::i64:
        out = groups_of_type<std::int64_t>(dev, left, right);
        break;
      case scalar_kind::u64:
        out = groups_of_type<std::uint64_t>(dev, left, right);
        break;
      default:
        break;
    }
  });
  return out;
}

}  // namespace espalier
