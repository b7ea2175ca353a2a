// sort_out_of_place.hpp - implements sort_from of a Context by its sort_pairs: the elements are copied and sorted
// between two buffers.
#pragma once

#include <cstddef>
#include <utility>

#include "espalier/device/buffer.hpp"

namespace espalier::detail {

/// Sorts by bits [begin_bit, end_bit) of the keys. `sorted_values` is empty for a set. Either buffer may be replaced by
/// another one of the same size.
template <class Context, class Word, class Value>
void sort_out_of_place(Context& context, const Word* keys, buffer<Word>& sorted_keys, const Value* values,
                       buffer<Value>& sorted_values, std::size_t n, unsigned begin_bit = 0,
                       unsigned end_bit = 8 * sizeof(Word)) {
  const bool is_set = sorted_values.empty();
  buffer<Word> keys_alt(context.get_device(), n, context.order());
  buffer<Value> values_alt(context.get_device(), sorted_values.size(), context.order());
  context.copy(sorted_keys.data(), keys, n * sizeof(Word));
  if (!is_set) context.copy(sorted_values.data(), values, n * sizeof(Value));
  if (context.sort_pairs(sorted_keys.data(), keys_alt.data(), sorted_values.data(), values_alt.data(),
                         is_set ? 0 : sizeof(Value), n, begin_bit, end_bit)) {
    sorted_keys = std::move(keys_alt);
    sorted_values = std::move(values_alt);
  }
}

}  // namespace espalier::detail
