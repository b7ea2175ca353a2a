// key_table.cpp - see key_table.hpp.
#include "bench/query/key_table.hpp"

#include <arrow/chunked_array.h>
#include <arrow/compute/api.h>
#include <fmt/format.h>

#include <algorithm>

#include "bench/data/random.hpp"
#include "bench/harness/options.hpp"
#include "bench/query/columns.hpp"

namespace espalier::bench {
namespace {

constexpr const char* cannot_check = "An answer cannot be checked";

template <class Type>
const typename Type::c_type* values_of(const arrow::Table& rows, int column) {
  using array = typename arrow::TypeTraits<Type>::ArrayType;
  return static_cast<const array&>(*rows.column(column)->chunk(0)).raw_values();
}

/// Returns the single value of a result as a number.
std::int64_t number_in(const arrow::Table& answer) {
  if (answer.num_rows() != 1 || answer.num_columns() != 1)
    throw cli::wrong_answer("An aggregate has other than one value.");
  engine::require_ok(arrow::compute::Initialize(), cannot_check);
  const auto cast = engine::value_of(arrow::compute::Cast(answer.column(0), arrow::int64()), cannot_check);
  const auto& chunk = static_cast<const arrow::Int64Array&>(*cast.chunked_array()->chunk(0));
  return chunk.Value(0);
}

}  // namespace

const char* name_of(pair_kind kind) { return kind == pair_kind::identical ? "identical" : "non-identical"; }

const char* name_of(key_question question) {
  switch (question) {
    case key_question::range:
      return "range";
    case key_question::count:
      return "count";
    default:
      return "sum";
  }
}

std::int32_t key_table::value(std::uint64_t key) const {
  if (kind_ == pair_kind::identical) return static_cast<std::int32_t>(key);
  return static_cast<std::int32_t>(below(random_bits(seed_ + 1, key), 100'000));
}
std::int64_t key_table::wide(std::uint64_t key) const {
  return static_cast<std::int64_t>(random_bits(seed_ + 2, key) >> 1);
}
double key_table::real(std::uint64_t key) { return static_cast<double>(key) / 8; }

row_source key_table::source() const {
  return [*this](std::uint64_t first, std::uint64_t count) {
    const permutation order(rows_, seed_);
    const auto of_key = [&](const auto& f) { return [&order, f](std::uint64_t row) { return f(order(row)); }; };
    const auto key = [](std::uint64_t k) { return k; };
    std::vector<named_column> columns{
        {"k", number_column<arrow::Int32Type>(first, count, of_key(key))},
        {"v", number_column<arrow::Int32Type>(first, count, of_key([this](std::uint64_t k) { return value(k); }))}};
    if (kind_ == pair_kind::non_identical) {
      columns.emplace_back(
          "w", number_column<arrow::Int64Type>(first, count, of_key([this](std::uint64_t k) { return wide(k); })));
      columns.emplace_back("x", number_column<arrow::DoubleType>(first, count, of_key(real)));
    }
    return table_of(columns);
  };
}

std::vector<key_range> key_table::ranges(std::size_t count, std::uint64_t keys) const {
  std::vector<key_range> list;
  const std::uint64_t places = rows_ > keys ? rows_ - keys + 1 : 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t lo = below(random_bits(seed_ + keys, i), places);
    list.push_back({lo, lo + keys - 1});
  }
  return list;
}

std::string key_table::statement(key_question question, const key_range& range) const {
  const char* const columns = question == key_question::range   ? "*"
                              : question == key_question::count ? "count(*)"
                                                                : "sum(v)";
  return fmt::format("SELECT {} FROM t WHERE k BETWEEN {} AND {}", columns, range.lo, range.hi);
}

std::vector<std::string> key_table::statements(key_question question, const std::vector<key_range>& ranges) const {
  std::vector<std::string> list;
  for (const auto& range : ranges) list.push_back(statement(question, range));
  return list;
}

std::int64_t key_table::aggregate(key_question question, const key_range& range) const {
  const std::uint64_t end = std::min(range.hi + 1, rows_);
  if (question != key_question::sum) return static_cast<std::int64_t>(end - range.lo);
  if (kind_ == pair_kind::identical) return static_cast<std::int64_t>((range.lo + end - 1) * (end - range.lo) / 2);
  std::int64_t sum = 0;
  for (std::uint64_t key = range.lo; key < end; ++key) sum += value(key);
  return sum;
}

bool key_table::has_rows(const arrow::Table& answer, const key_range& range) const {
  const auto count = static_cast<std::uint64_t>(aggregate(key_question::count, range));
  if (static_cast<std::uint64_t>(answer.num_rows()) != count) return false;
  const auto rows = engine::value_of(answer.CombineChunks(), cannot_check);
  const auto* const k = values_of<arrow::Int32Type>(*rows, 0);
  const auto* const v = values_of<arrow::Int32Type>(*rows, 1);
  const bool all = kind_ == pair_kind::non_identical;
  const auto* const w = all ? values_of<arrow::Int64Type>(*rows, 2) : nullptr;
  const auto* const x = all ? values_of<arrow::DoubleType>(*rows, 3) : nullptr;
  std::vector<bool> seen(count, false);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto key = static_cast<std::uint64_t>(k[i]);
    if (key - range.lo >= count || seen[key - range.lo] || v[i] != value(key)) return false;
    if (all && (w[i] != wide(key) || x[i] != real(key))) return false;
    seen[key - range.lo] = true;
  }
  return true;
}

void key_table::check(key_question question, const key_range& range, const arrow::Table& answer) const {
  const bool right =
      question == key_question::range ? has_rows(answer, range) : number_in(answer) == aggregate(question, range);
  if (!right) throw cli::wrong_answer(fmt::format("A wrong answer was given to {}.", statement(question, range)));
}

}  // namespace espalier::bench
