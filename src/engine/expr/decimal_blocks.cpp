#include "engine/expr/decimal_blocks.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "engine/expr/sql_arrow_status.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t decimal_block_rows = 1024;
constexpr int most_narrow_digits = 18;  // 10^18 fits 64 bits

int128 power_of_ten(int digits) {
  int128 out = 1;
  for (int i = 0; i < digits; ++i) out *= 10;
  return out;
}

int128 wide_decimal(const arrow::Decimal128& value) {
  return static_cast<int128>(static_cast<uint128>(static_cast<std::uint64_t>(value.high_bits())) << 64 |
                             value.low_bits());
}

// One step of a postfix program: it pushes an operand or applies an operation to the top two values.
struct decimal_step {
  op kind = op::column;  // column: an array; literal: a constant; otherwise the operation
  std::shared_ptr<arrow::Array> array;
  int128 constant = 0;
  int scale_up = 0;      // decimal places to add to an operand
  bool limited = false;  // the declared digits could exceed 38
};

class decimal_program {
 public:
  using evaluator = std::function<arrow::Datum(const expr_ptr&)>;

  decimal_program(const evaluator& evaluate) : evaluate_(evaluate) {}

  /// Returns false if the expression cannot be computed here: a NULL constant or an operand of another type.
  bool add(const expr_ptr& e, int scale) {
    if (is_decimal_arithmetic(*e)) {
      // The scale of a product is the sum of the scales of its operands; operands of a sum have the same scale.
      const bool product = e->kind == op::multiply;
      const int common = e->type.scale;
      if (!add(e->args[0], product ? e->args[0]->type.scale : common)) return false;
      if (!add(e->args[1], product ? e->args[1]->type.scale : common)) return false;
      steps_.push_back({e->kind, nullptr, 0, scale - e->type.scale, e->type.precision == max_decimal_precision});
      depth_.push_back(depth_.back() - 1);
      return true;
    }
    decimal_step leaf;
    leaf.scale_up = scale - e->type.scale;
    const expr_ptr& source = is_integer_cast(*e) ? e->args[0] : e;
    const arrow::Datum value = evaluate_(source);
    if (value.is_scalar()) {
      if (!value.scalar()->is_valid || value.type()->id() != arrow::Type::DECIMAL128) return false;
      leaf.kind = op::literal;
      leaf.constant = wide_decimal(value.scalar_as<arrow::Decimal128Scalar>().value);
    } else {
      leaf.array = value.make_array();
    }
    steps_.push_back(std::move(leaf));
    depth_.push_back(depth_.empty() ? 1 : depth_.back() + 1);
    return true;
  }

  [[nodiscard]] bool has_arrays() const {
    return std::any_of(steps_.begin(), steps_.end(), [](const decimal_step& s) { return s.array != nullptr; });
  }
  [[nodiscard]] std::size_t most_values() const { return *std::max_element(depth_.begin(), depth_.end()); }
  [[nodiscard]] const std::vector<decimal_step>& steps() const { return steps_; }

 private:
  // A column of integers is read without a cast: the cast to a decimal of scale 0 does not change the number if its
  // precision suffices for all of them.
  static bool is_integer_cast(const expr& e) {
    if (e.kind != op::cast || e.type.id != type_id::decimal || e.type.scale != 0) return false;
    const auto from = e.args[0]->type.id;
    const int digits = from == type_id::int32 ? 10 : from == type_id::int64 ? 19 : max_decimal_precision + 1;
    return e.type.precision >= digits && e.args[0]->kind == op::column;
  }

  const evaluator& evaluate_;
  std::vector<decimal_step> steps_;
  std::vector<std::size_t> depth_;
};

template <class Word>
struct decimal_limits;
template <>
struct decimal_limits<std::int64_t> {
  // A 64-bit number never has 38 digits.
  static bool exceeds(std::int64_t) { return false; }
};
template <>
struct decimal_limits<int128> {
  static bool exceeds(int128 value) {
    static const int128 end = power_of_ten(max_decimal_precision);
    return value >= end || value <= -end;
  }
};

// Runs a program over rows [begin, begin + count). Overflows are accumulated without branches.
template <class Word>
class decimal_runner {
 public:
  explicit decimal_runner(const decimal_program& p) : steps_(p.steps()), values_(p.most_values() * decimal_block_rows) {
    for (const auto& s : steps_) {
      const auto factor = power_of_ten(s.scale_up);
      fits_ &= s.scale_up <= (std::is_same_v<Word, std::int64_t> ? most_narrow_digits : max_decimal_precision);
      fits_ &= static_cast<int128>(static_cast<Word>(s.constant)) == s.constant;
      factors_.push_back(static_cast<Word>(factor));
    }
  }

  [[nodiscard]] bool fits() const { return fits_; }

  const Word* run(std::int64_t begin, std::size_t count) {
    Word* top = values_.data();  // one past the top of the stack
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const decimal_step& s = steps_[i];
      if (s.kind == op::column || s.kind == op::literal) {
        load(s, begin, count, top);
        top += decimal_block_rows;
      } else {
        top -= decimal_block_rows;
        operate(s, top - decimal_block_rows, top, count);
      }
      if (s.scale_up > 0) scale(top - decimal_block_rows, factors_[i], count);
    }
    return values_.data();
  }

 private:
  void load(const decimal_step& s, std::int64_t begin, std::size_t count, Word* out) {
    if (s.kind == op::literal) {
      std::fill_n(out, count, static_cast<Word>(s.constant));
    } else if (s.array->type_id() == arrow::Type::INT32) {
      std::copy_n(s.array->data()->GetValues<std::int32_t>(1) + begin, count, out);
    } else if (s.array->type_id() == arrow::Type::INT64) {
      std::copy_n(s.array->data()->GetValues<std::int64_t>(1) + begin, count, out);
    } else {
      load_decimals(
          reinterpret_cast<const std::int64_t*>(static_cast<const arrow::Decimal128Array&>(*s.array).GetValue(begin)),
          count, out);
    }
  }

  void load_decimals(const std::int64_t* words, std::size_t count, Word* out) {
    if constexpr (std::is_same_v<Word, std::int64_t>) {
      std::int64_t wide = 0;
      for (std::size_t i = 0; i < count; ++i) {
        out[i] = words[2 * i];
        wide |= words[2 * i + 1] ^ (words[2 * i] >> 63);
      }
      fits_ &= wide == 0;
    } else {
      std::memcpy(out, words, count * sizeof(Word));
    }
  }

  void operate(const decimal_step& s, Word* left, const Word* right, std::size_t count) {
    switch (s.kind) {
      case op::add:
        return combine(left, right, count, s.limited,
                       [](Word a, Word b, Word* out) { return __builtin_add_overflow(a, b, out); });
      case op::subtract:
        return combine(left, right, count, s.limited,
                       [](Word a, Word b, Word* out) { return __builtin_sub_overflow(a, b, out); });
      default:
        return combine(left, right, count, s.limited,
                       [](Word a, Word b, Word* out) { return __builtin_mul_overflow(a, b, out); });
    }
  }

  template <class Operation>
  void combine(Word* left, const Word* right, std::size_t count, bool limited, const Operation& operation) {
    bool over = false;
    for (std::size_t i = 0; i < count; ++i) over |= operation(left[i], right[i], left + i);
    if (limited && std::is_same_v<Word, int128>) {
      for (std::size_t i = 0; i < count; ++i) over |= decimal_limits<Word>::exceeds(left[i]);
    }
    fits_ &= !over;
  }

  void scale(Word* values, Word factor, std::size_t count) {
    bool over = false;
    for (std::size_t i = 0; i < count; ++i) over |= __builtin_mul_overflow(values[i], factor, values + i);
    fits_ &= !over;
  }

  const std::vector<decimal_step>& steps_;
  std::vector<Word> values_;
  std::vector<Word> factors_;
  bool fits_ = true;
};

void store_decimals(const std::int64_t* values, std::size_t count, std::int64_t* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[2 * i] = values[i];
    out[2 * i + 1] = values[i] >> 63;
  }
}
void store_decimals(const int128* values, std::size_t count, std::int64_t* out) {
  std::memcpy(out, values, count * sizeof(int128));
}

template <class Word>
bool run_decimals(const decimal_program& p, std::int64_t rows, std::int64_t* out) {
  decimal_runner<Word> run(p);
  for (std::int64_t begin = 0; begin < rows && run.fits(); begin += static_cast<std::int64_t>(decimal_block_rows)) {
    const auto count = std::min(decimal_block_rows, static_cast<std::size_t>(rows - begin));
    store_decimals(run.run(begin, count), count, out + 2 * begin);
  }
  return run.fits();
}

// A row is valid if all operands are.
std::shared_ptr<arrow::Buffer> valid_decimal_rows(const decimal_program& p, std::int64_t rows) {
  std::shared_ptr<arrow::Buffer> out;
  for (const auto& s : p.steps()) {
    if (!s.array || s.array->null_count() == 0) continue;
    const auto* bits = s.array->null_bitmap_data();
    auto* const pool = arrow::default_memory_pool();
    out = out ? value_of(arrow::internal::BitmapAnd(pool, out->data(), 0, bits, s.array->offset(), rows, 0))
              : value_of(arrow::internal::CopyBitmap(pool, bits, s.array->offset(), rows));
  }
  return out;
}

bool has_columns(const expr_ptr& e) {
  return any_node(e, [](const expr& node) { return node.kind == op::column; });
}

// Returns whether an operand without columns is NULL.
bool has_null_constant(const expr_ptr& e, const std::function<arrow::Datum(const expr_ptr&)>& evaluate) {
  if (is_decimal_arithmetic(*e))
    return has_null_constant(e->args[0], evaluate) || has_null_constant(e->args[1], evaluate);
  if (has_columns(e)) return false;
  const auto value = evaluate(e);
  return value.is_scalar() && !value.scalar()->is_valid;
}

}  // namespace

bool is_decimal_arithmetic(const expr& e) {
  const bool kind = e.kind == op::add || e.kind == op::subtract || e.kind == op::multiply;
  return kind && e.type.id == type_id::decimal && e.args[0]->type.id == type_id::decimal &&
         e.args[1]->type.id == type_id::decimal;
}

std::shared_ptr<arrow::Array> decimal_block_values(const expr_ptr& e, const batch& rows,
                                                   const std::function<arrow::Datum(const expr_ptr&)>& evaluate) {
  // If this function gives up, the caller evaluates the operands again, so cases that can be detected early are
  // rejected first.
  if (!has_columns(e) || has_null_constant(e, evaluate)) return nullptr;
  decimal_program p(evaluate);
  if (!p.add(e, e->type.scale) || !p.has_arrays()) return nullptr;
  auto values = std::shared_ptr<arrow::Buffer>(value_of(arrow::AllocateBuffer(rows.rows * 16)));
  auto* const out = reinterpret_cast<std::int64_t*>(values->mutable_data());
  if (!run_decimals<std::int64_t>(p, rows.rows, out) && !run_decimals<int128>(p, rows.rows, out)) return nullptr;
  return std::make_shared<arrow::Decimal128Array>(arrow_type(e->type), rows.rows, std::move(values),
                                                  valid_decimal_rows(p, rows.rows));
}

}  // namespace espalier::engine
