// text_pieces_kernel_test.cpp - every array that an operation on values creates is checked: type, length, buffers and
// text, whose offsets may have wrapped.
#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/error.hpp"
#include "engine/expr/functions.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/table/text_limit.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

template <class T>
std::shared_ptr<arrow::Buffer> buffer_of(const std::vector<T>& values) {
  return arrow::Buffer::FromString(
      std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

arrow::Datum text_array(const std::vector<std::int32_t>& offsets, const std::string& text) {
  return arrow::Datum(arrow::ArrayData::Make(
      arrow::utf8(), static_cast<std::int64_t>(offsets.size()) - 1,
      {nullptr, buffer_of(offsets), arrow::Buffer::FromString(text)}, 0));
}

arrow::Datum number_array(std::int64_t length, std::size_t values, std::shared_ptr<arrow::Buffer> validity = nullptr) {
  const bool has_nulls = validity != nullptr;
  return arrow::Datum(arrow::ArrayData::Make(arrow::int64(), length,
                                             {std::move(validity), buffer_of(std::vector<std::int64_t>(values))},
                                             has_nulls ? arrow::kUnknownNullCount : 0));
}

// The SQLSTATE of the refusal, or nothing.
std::string refusal(const arrow::Datum& values, const arrow::DataType& type, std::int64_t rows) {
  try {
    require_values(values, type, rows, 0);
    return "";
  } catch (const coded_refusal& e) {
    return std::string(e.code().sqlstate);
  }
}

TEST(EngineTextPieces, ArraysThatAreNotWhatTheyShouldBeAreRefused) {
  const auto& text = *arrow::utf8();
  const auto& number = *arrow::int64();
  EXPECT_EQ(refusal(text_array({0, 2, 5}, "abcde"), text, 2), "");
  EXPECT_EQ(refusal(text_array({0, 2, 5}, "abcde"), text, 3), "XX000") << "a value is missing";
  EXPECT_EQ(refusal(text_array({0, 2, 5}, "abcde"), number, 2), "XX000") << "another type";
  EXPECT_EQ(refusal(text_array({0, 5, 2}, "abcde"), text, 2), "54000") << "offsets that have wrapped";
  EXPECT_EQ(refusal(text_array({-4, 2, 5}, "abcde"), text, 2), "54000") << "and from the first one on";
  EXPECT_EQ(refusal(text_array({0, 2, 50}, "abcde"), text, 2), "XX000") << "offsets behind the text";
  EXPECT_EQ(refusal(number_array(3, 3), number, 3), "");
  EXPECT_EQ(refusal(number_array(300, 3), number, 300), "XX000") << "too few values";
  EXPECT_EQ(refusal(number_array(300, 300, buffer_of(std::vector<char>(4))), number, 300), "XX000")
      << "a validity bitmap that is too short";
  EXPECT_EQ(refusal(arrow::Datum(arrow::MakeNullScalar(arrow::int64())), number, 300), "");
  EXPECT_EQ(refusal(arrow::Datum(arrow::MakeNullScalar(arrow::int32())), number, 300), "XX000");
  const lowered_text_limit limit(10);
  EXPECT_EQ(refusal(text_array({0, 5, 10}, "abcdefghij"), text, 2), "");
  EXPECT_EQ(refusal(text_array({0, 5, 11}, "abcdefghijk"), text, 2), "54000");
}

// A call of each function, with a column of texts `s`, of numbers `n`, of doubles `d` and of times `w`.
const std::map<std::string, std::string> call_of_function = {
    {"extract", "extract(month FROM w)"},
    {"date_part", "date_part('year', w)"},
    {"date_trunc", "date_trunc('month', w)"},
    {"date_bin", "date_bin(interval '1 hour', w, timestamp '2001-01-01')"},
    {"mod", "mod(n, 7)"},
    {"now", "now() > w"},
    {"concat", "concat(s, n, '-', s)"},
    {"concat_ws", "concat_ws(', ', s, s, n::varchar)"},
    {"abs", "abs(n - 100)"},
    {"floor", "floor(d)"},
    {"ceil", "ceil(d)"},
    {"ceiling", "ceiling(d)"},
    {"round", "round(d::numeric(12, 3), 1)"},
    {"trunc", "trunc(d)"},
    {"sqrt", "sqrt(d)"},
    {"exp", "exp(d / 1000)"},
    {"ln", "ln(d + 1)"},
    {"log", "log(d + 1)"},
    {"log10", "log10(d + 1)"},
    {"sin", "sin(d)"},
    {"cos", "cos(d)"},
    {"tan", "tan(d)"},
    {"atan", "atan(d)"},
    {"atan2", "atan2(d, 2)"},
    {"to_timestamp", "to_timestamp(d)"},
    {"power", "power(d, 2)"},
    {"pow", "pow(d, 0.5)"},
    {"length", "length(s)"},
    {"char_length", "char_length(s)"},
    {"lower", "lower(s)"},
    {"upper", "upper(s)"},
    {"reverse", "reverse(s)"},
    {"btrim", "btrim(s, '1') || btrim(s)"},
    {"ltrim", "ltrim(s, '1') || ltrim(s)"},
    {"rtrim", "rtrim(s, 'a') || rtrim(s)"},
    {"left", "left(s, 40)"},
    {"right", "right(s, -2)"},
    {"lpad", "lpad(s, 90) || lpad(s, 200, 'xyz')"},
    {"rpad", "rpad(s, 90) || rpad(s, 200, 'xyz')"},
    {"repeat", "repeat(s, 4)"},
    {"split_part", "split_part(s, 'a', 1)"},
    {"strpos", "strpos(s, 'a')"},
    {"position", "position('a' IN s)"},
    {"octet_length", "octet_length(s)"},
    {"regexp_like", "regexp_like(s, '^1.*a$')"},
    {"regexp_replace", "regexp_replace(s, '(a+)', '<\\1>') || regexp_replace(s, 'a', 'bc', 'g')"},
    {"substring", "substring(s, 2) || substring(s, 2, 30)"},
    {"substr", "substr(s, 2) || substr(s, 2, 30)"},
    {"replace", "replace(s, 'a', 'bcd')"},
    {"starts_with", "starts_with(s, '1')"},
};

// The answers of each function with small arrays are those with large ones, and every array is valid.
TEST(EngineTextPieces, EveryFunctionMakesArraysThatFit) {
  constexpr std::int64_t small_text = 1000;
  for (const auto& name : function_names()) {
    if (!is_scalar_function(name)) continue;  // an aggregate or a window function
    EXPECT_TRUE(call_of_function.contains(name)) << "add a call of " << name;
  }
  database_options options;
  options.device = device::cpu();
  database db(options);
  std::string rows;
  for (int i = 1; i <= 300; ++i) {
    const auto text = std::to_string(i % 53) + std::string(static_cast<std::size_t>(i % 53), 'a');
    rows += (i == 1 ? "(" : ", (") + std::to_string(i) + ", " + (i % 9 == 8 ? "NULL" : "'" + text + "'") + ")";
  }
  db.execute(
      "CREATE TABLE t AS SELECT n, n * 1.25::double precision AS d, timestamp '2001-02-03' + n * interval '7 hours' "
      "AS w, s FROM (VALUES " +
      rows + ") AS v(n, s)");
  for (const auto& [name, call] : call_of_function) {
    const auto sql = "SELECT n, " + call + " AS v FROM t ORDER BY n";
    const auto whole = db.execute(sql).rows;
    const lowered_text_limit limit(small_text);
    const auto pieces = db.execute(sql).rows;
    EXPECT_TRUE(whole->Equals(*pieces)) << sql;
    for (const auto& chunk : pieces->column(1)->chunks()) {
      EXPECT_TRUE(chunk->ValidateFull().ok()) << sql;
      EXPECT_LE(text_bytes(*chunk), small_text) << sql;
    }
  }
}

}  // namespace
}  // namespace espalier::engine
