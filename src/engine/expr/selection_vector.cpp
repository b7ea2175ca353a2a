// selection_vector.cpp - rows are extracted from the mask in words of 64 bits, with a branch per word only. Conditions
// often select about every second row, which a branch predictor cannot predict.
#include "engine/expr/selection_vector.hpp"

#include <arrow/array.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace espalier::engine {
namespace {

// Returns bits [begin, begin + count) of a bitmap, count <= 64. A null bitmap has all bits set.
std::uint64_t mask_word(const std::uint8_t* bitmap, std::int64_t begin, std::int64_t count) {
  const std::uint64_t wanted = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  if (bitmap == nullptr) return wanted;
  const auto shift = static_cast<unsigned>(begin % 8);
  const std::int64_t bytes = (begin + count + 7) / 8 - begin / 8;  // at most 9
  std::uint64_t word = 0;
  std::memcpy(&word, bitmap + begin / 8, static_cast<std::size_t>(std::min<std::int64_t>(bytes, 8)));
  word >>= shift;
  if (bytes > 8) word |= std::uint64_t{bitmap[begin / 8 + 8]} << (64 - shift);
  return word & wanted;
}

}  // namespace

selection_vector::selection_vector(const arrow::BooleanArray& mask)
    : numbers_(std::make_unique_for_overwrite<std::uint32_t[]>(static_cast<std::size_t>(mask.length()))) {
  const auto& data = *mask.data();
  const std::uint8_t* const values = data.buffers[1]->data();
  const std::uint8_t* const valid = mask.null_count() > 0 ? data.buffers[0]->data() : nullptr;
  std::uint32_t* next = numbers_.get();
  for (std::int64_t begin = 0; begin < mask.length(); begin += 64) {
    const std::int64_t count = std::min<std::int64_t>(64, mask.length() - begin);
    std::uint64_t word = mask_word(values, data.offset + begin, count);
    if (valid != nullptr) word &= mask_word(valid, data.offset + begin, count);
    const auto first = static_cast<std::uint32_t>(begin);
    for (; word != 0; word &= word - 1) *next++ = first + static_cast<std::uint32_t>(std::countr_zero(word));
  }
  size_ = static_cast<std::size_t>(next - numbers_.get());
}

}  // namespace espalier::engine
