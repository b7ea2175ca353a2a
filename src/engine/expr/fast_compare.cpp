#include "engine/expr/fast_compare.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <cstring>

#include "engine/expr/sql_arrow_status.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

using answer_bits = std::shared_ptr<arrow::Buffer>;

// Evaluates test(row) for each row into a bitmap.
template <class Test>
answer_bits tested_rows(std::int64_t rows, const Test& test) {
  auto out = answer_bits(value_of(arrow::AllocateBuffer((rows + 63) / 64 * 8)));
  auto* const words = reinterpret_cast<std::uint64_t*>(out->mutable_data());
  for (std::int64_t begin = 0; begin < rows; begin += 64) {
    const std::int64_t count = std::min<std::int64_t>(64, rows - begin);
    std::uint64_t word = 0;
    for (std::int64_t i = 0; i < count; ++i) word |= static_cast<std::uint64_t>(test(begin + i)) << i;
    words[begin / 64] = word;
  }
  return out;
}

answer_bits copied_validity(const arrow::Array& values) {
  if (values.null_count() == 0) return nullptr;
  return value_of(arrow::internal::CopyBitmap(arrow::default_memory_pool(), values.null_bitmap_data(), values.offset(),
                                              values.length()));
}

answer_bits common_validity(const arrow::Array& a, const arrow::Array& b) {
  if (a.null_count() == 0) return copied_validity(b);
  if (b.null_count() == 0) return copied_validity(a);
  return value_of(arrow::internal::BitmapAnd(arrow::default_memory_pool(), a.null_bitmap_data(), a.offset(),
                                             b.null_bitmap_data(), b.offset(), a.length(), 0));
}

struct decimal_rows {
  const std::uint8_t* bytes;

  int128 operator()(std::int64_t row) const {
    int128 out;
    std::memcpy(&out, bytes + row * 16, sizeof out);
    return out;
  }
};
struct decimal_constant {
  int128 value;

  int128 operator()(std::int64_t) const { return value; }
};

template <class Left, class Right>
answer_bits compared_rows(op kind, std::int64_t rows, const Left& a, const Right& b) {
  switch (kind) {
    case op::equal:
      return tested_rows(rows, [&](std::int64_t i) { return a(i) == b(i); });
    case op::not_equal:
      return tested_rows(rows, [&](std::int64_t i) { return a(i) != b(i); });
    case op::less:
      return tested_rows(rows, [&](std::int64_t i) { return a(i) < b(i); });
    case op::less_equal:
      return tested_rows(rows, [&](std::int64_t i) { return a(i) <= b(i); });
    case op::greater:
      return tested_rows(rows, [&](std::int64_t i) { return a(i) > b(i); });
    default:
      return tested_rows(rows, [&](std::int64_t i) { return a(i) >= b(i); });
  }
}

decimal_rows rows_of_decimals(const arrow::Array& values) {
  return {static_cast<const arrow::Decimal128Array&>(values).GetValue(0)};
}

decimal_constant constant_of(const arrow::Datum& value) {
  const auto& decimal = value.scalar_as<arrow::Decimal128Scalar>().value;
  return {static_cast<int128>(static_cast<uint128>(static_cast<std::uint64_t>(decimal.high_bits())) << 64 |
                              decimal.low_bits())};
}

bool are_of_one_scale(const arrow::Datum& left, const arrow::Datum& right) {
  const auto &a = *left.type(), &b = *right.type();
  if (a.id() != arrow::Type::DECIMAL128 || b.id() != arrow::Type::DECIMAL128) return false;
  return static_cast<const arrow::Decimal128Type&>(a).scale() == static_cast<const arrow::Decimal128Type&>(b).scale();
}

std::shared_ptr<arrow::Array> truth_array(std::int64_t rows, answer_bits bits, answer_bits valid) {
  return std::make_shared<arrow::BooleanArray>(rows, std::move(bits), std::move(valid));
}

}  // namespace

std::shared_ptr<arrow::Array> compared_decimals(op kind, const arrow::Datum& left, const arrow::Datum& right) {
  if (!are_of_one_scale(left, right)) return nullptr;
  if (left.is_array() && right.is_array()) {
    const auto a = left.make_array(), b = right.make_array();
    auto bits = compared_rows(kind, a->length(), rows_of_decimals(*a), rows_of_decimals(*b));
    return truth_array(a->length(), std::move(bits), common_validity(*a, *b));
  }
  if (left.is_scalar() && right.is_array()) return compared_decimals(mirrored(kind), right, left);
  if (!left.is_array() || !right.is_scalar() || !right.scalar()->is_valid) return nullptr;
  const auto a = left.make_array();
  auto bits = compared_rows(kind, a->length(), rows_of_decimals(*a), constant_of(right));
  return truth_array(a->length(), std::move(bits), copied_validity(*a));
}

std::shared_ptr<arrow::Array> texts_among(const arrow::Array& texts, const std::vector<std::string_view>& wanted) {
  const auto& strings = static_cast<const arrow::StringArray&>(texts);
  const auto& buffer = strings.value_data();
  const char* const characters = buffer ? reinterpret_cast<const char*>(buffer->data()) : nullptr;
  const std::int32_t* const offsets = strings.raw_value_offsets();
  auto bits = tested_rows(texts.length(), [&](std::int64_t i) {
    const auto length = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
    for (const auto& text : wanted) {
      if (text.size() == length && (length == 0 || std::memcmp(characters + offsets[i], text.data(), length) == 0)) {
        return true;
      }
    }
    return false;
  });
  return truth_array(texts.length(), std::move(bits), copied_validity(texts));
}

}  // namespace espalier::engine
