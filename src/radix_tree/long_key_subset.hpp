// long_key_subset.hpp - the long keys of a batch, as a separate batch in host memory.
#pragma once

#include "espalier/radix_tree/index.hpp"
#include "radix_tree/write.hpp"  // keep_numbers
#include "static_tree/cpu_executor.hpp"

namespace espalier::detail {

struct mark_long {
  byte_batch keys;
  std::uint64_t* marks;
  ESPALIER_HD void operator()(std::size_t i) const { marks[i] = keys[i].size > most_leaf_bytes ? 1 : 0; }
};
struct listed_size {
  byte_batch keys;
  const std::uint32_t* numbers;
  std::uint64_t* sizes;
  ESPALIER_HD void operator()(std::size_t j) const { sizes[j] = keys[numbers[j]].size; }
};
struct copy_listed {
  byte_batch keys;
  const std::uint32_t* numbers;
  const std::uint64_t* offsets;
  std::uint8_t* bytes;
  ESPALIER_HD void operator()(std::size_t j) const {
    const byte_key_view key = keys[numbers[j]];
    memcpy(bytes + offsets[j], key.bytes, key.size);
  }
};
struct copy_listed_value {
  const void* from;
  const std::uint32_t* numbers;
  unsigned value_bytes;
  void* to;
  ESPALIER_HD void operator()(std::size_t j) const {
    memcpy(static_cast<std::uint8_t*>(to) + j * value_bytes,
           static_cast<const std::uint8_t*>(from) + std::size_t{numbers[j]} * value_bytes, value_bytes);
  }
};

struct long_key_subset {
  std::size_t n = 0;
  buffer<std::uint64_t> offsets;
  buffer<std::uint8_t> bytes;
  raw_buffer values;

  [[nodiscard]] byte_keys keys() const { return {{bytes.data(), offsets.data(), 0}, n, bytes.size(), nullptr}; }
};

/// Returns the numbers of the long keys, ascending. n is below 2^32.
template <class Context>
[[nodiscard]] buffer<std::uint32_t> number_long(Context& context, const byte_batch& keys, std::size_t n) {
  const buffer<std::uint64_t> marks = room<std::uint64_t>(context, n + 1);
  context.for_each(n, mark_long{keys, marks.data()});
  buffer<std::uint32_t> numbers = room<std::uint32_t>(context, number_marks(context, marks, n));
  if (numbers.size() != 0) context.for_each(n, keep_numbers{marks.data(), numbers.data()});
  return numbers;
}

/// Gathers the numbered keys, and their values if there are any, in the memory of the context's device, which can read
/// all inputs.
template <class Context>
[[nodiscard]] long_key_subset take_numbered(Context& context, const byte_batch& keys, const std::uint32_t* numbers,
                                            std::size_t m, const void* values, unsigned value_bytes) {
  long_key_subset part;
  part.n = m;
  part.offsets = room<std::uint64_t>(context, m + 1);
  context.for_each(m, listed_size{keys, numbers, part.offsets.data()});
  part.bytes = room<std::uint8_t>(context, number_marks(context, part.offsets, m));
  context.for_each(m, copy_listed{keys, numbers, part.offsets.data(), part.bytes.data()});
  if (values != nullptr && value_bytes != 0) {
    part.values = raw_buffer(context.get_device(), m * value_bytes, context.order());
    context.for_each(m, copy_listed_value{values, numbers, value_bytes, part.values.data()});
  }
  return part;
}

/// Returns a copy in host memory, which is complete when the stream is synchronised.
template <class Context>
[[nodiscard]] raw_buffer at_host(Context& context, const device& host_tree, const void* from, std::size_t bytes) {
  raw_buffer to(host_tree, bytes, context.order());
  if (bytes != 0) context.copy(to.data(), from, bytes);
  return to;
}
/// Copies a subset to host memory.
template <class Context>
[[nodiscard]] long_key_subset at_host(Context& context, const device& host_tree, long_key_subset&& part) {
  if constexpr (!Context::on_gpu) {
    return std::move(part);
  } else {
    long_key_subset here;
    here.n = part.n;
    here.offsets = {at_host(context, host_tree, part.offsets.data(), part.offsets.bytes()), part.n + 1};
    here.bytes = {at_host(context, host_tree, part.bytes.data(), part.bytes.bytes()), part.bytes.size()};
    here.values = at_host(context, host_tree, part.values.data(), part.values.bytes());
    context.order().synchronize();
    return here;
  }
}

}  // namespace espalier::detail
