// cuda_sort.cuh - cuda_backend::sort_pairs with CUB. Included by one .cu file per word, which compile in parallel.
#pragma once

#include <cub/device/device_radix_sort.cuh>

#include <utility>

#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"

namespace espalier {

namespace detail {

struct alignas(16) value_16 {
  std::uint64_t lo, hi;
};

// Calls `step(scratch, bytes)` twice, as CUB requires: to query the size, and to enqueue the work.
template <class Step>
void with_scratch(const device& dev, const stream& s, const char* what, Step step) {
  std::size_t bytes = 0;
  check_cuda(step(nullptr, bytes), what);
  const raw_buffer scratch(dev, std::max<std::size_t>(bytes, 1), s);
  check_cuda(step(scratch.data(), bytes), what);
}

// The number of elements is 64 bits wide, so 2^32 and more elements are sorted by one call.
template <class Word>
bool sort_keys(const device& dev, const stream& s, cub::DoubleBuffer<Word> keys, std::uint64_t n, int begin, int end) {
  with_scratch(dev, s, "cub::DeviceRadixSort::SortKeys", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeys(scratch, bytes, keys, n, begin, end, cuda_backend::native(s));
  });
  return keys.selector != 0;
}

template <class Word, class Value>
bool sort_with(const device& dev, const stream& s, cub::DoubleBuffer<Word> keys, void* values, void* values_alt,
               std::uint64_t n, int begin, int end) {
  cub::DoubleBuffer<Value> moved(static_cast<Value*>(values), static_cast<Value*>(values_alt));
  with_scratch(dev, s, "cub::DeviceRadixSort::SortPairs", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, moved, n, begin, end, cuda_backend::native(s));
  });
  return keys.selector != 0;
}

template <class Word, class Value>
void sort_with_from(const device& dev, const stream& s, const Word* keys, Word* sorted_keys, const void* values,
                    void* sorted_values, std::uint64_t n, int begin, int end) {
  with_scratch(dev, s, "cub::DeviceRadixSort::SortPairs", [&](void* scratch, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, sorted_keys, static_cast<const Value*>(values),
                                           static_cast<Value*>(sorted_values), n, begin, end, cuda_backend::native(s));
  });
}

inline void require_value_bytes(unsigned value_bytes) {
  if (value_bytes != 0 && value_bytes != 4 && value_bytes != 8 && value_bytes != 16) {
    throw error("sort_pairs() takes values of 0, 4, 8 or 16 bytes; widen the values first.");
  }
}

}  // namespace detail

template <class Word>
void cuda_backend::sort_pairs_from(const stream& s, const Word* keys, Word* sorted_keys, const void* values,
                                   void* sorted_values, unsigned value_bytes, std::size_t n, unsigned begin_bit,
                                   unsigned end_bit) const {
  detail::require_value_bytes(value_bytes);
  if (n == 0) return;
  const int end = static_cast<int>(std::min<unsigned>(end_bit, 8 * sizeof(Word)));
  const int begin = static_cast<int>(std::min<unsigned>(begin_bit, end));
  const detail::device_guard guard(ordinal_);
  const stream order = device_.resolve(s);
  switch (value_bytes) {
    case 0:
      detail::with_scratch(device_, order, "cub::DeviceRadixSort::SortKeys", [&](void* scratch, std::size_t& bytes) {
        return cub::DeviceRadixSort::SortKeys(scratch, bytes, keys, sorted_keys, std::uint64_t{n}, begin, end,
                                              native(order));
      });
      return;
    case 4:
      return detail::sort_with_from<Word, std::uint32_t>(device_, order, keys, sorted_keys, values, sorted_values, n,
                                                         begin, end);
    case 8:
      return detail::sort_with_from<Word, std::uint64_t>(device_, order, keys, sorted_keys, values, sorted_values, n,
                                                         begin, end);
    default:
      return detail::sort_with_from<Word, detail::value_16>(device_, order, keys, sorted_keys, values, sorted_values, n,
                                                            begin, end);
  }
}

template <class Word>
bool cuda_backend::sort_pairs(const stream& s, Word* keys, Word* keys_alt, void* values, void* values_alt,
                              unsigned value_bytes, std::size_t n, unsigned begin_bit, unsigned end_bit) const {
  const int end = static_cast<int>(std::min<unsigned>(end_bit, 8 * sizeof(Word)));
  const int begin = static_cast<int>(std::min<unsigned>(begin_bit, 8 * sizeof(Word)));
  detail::require_value_bytes(value_bytes);
  if (n < 2 || begin >= end) return false;
  const detail::device_guard guard(ordinal_);
  const stream order = device_.resolve(s);
  const cub::DoubleBuffer<Word> both(keys, keys_alt);
  switch (value_bytes) {
    case 0:
      return detail::sort_keys(device_, order, both, n, begin, end);
    case 4:
      return detail::sort_with<Word, std::uint32_t>(device_, order, both, values, values_alt, n, begin, end);
    case 8:
      return detail::sort_with<Word, std::uint64_t>(device_, order, both, values, values_alt, n, begin, end);
    default:
      return detail::sort_with<Word, detail::value_16>(device_, order, both, values, values_alt, n, begin, end);
  }
}

}  // namespace espalier
