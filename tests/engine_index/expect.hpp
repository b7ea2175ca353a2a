// expect.hpp - compares all that an index answers with the model.
#pragma once

#include "engine_index/model.hpp"

namespace espalier::test {

/// The aggregate of these rows, as text: exact for integers and decimals; sums of floats are compared as numbers.
struct expected_aggregate {
  bool null = true;
  int128 whole = 0;
  double number = 0;
  cell value;
};

[[nodiscard]] inline expected_aggregate aggregate_of(const model_table& t, std::size_t column, aggregate_function f,
                                                     const row_numbers& rows) {
  expected_aggregate out;
  for (const std::uint64_t r : rows) {
    const cell& c = t.rows[r][column];
    if (!c) continue;
    out.null = false;
    if (f == aggregate_function::count_nonnull) ++out.whole;
    if (f == aggregate_function::sum) {
      if (const auto* d = std::get_if<double>(&*c)) {
        out.number += t.types[column].id == type_id::float32 ? double{static_cast<float>(*d)} : *d;
      } else {
        out.whole += std::get<int128>(*c);
      }
    }
    const bool first = !out.value;
    if (first || (f == aggregate_function::min && compare(*c, *out.value) < 0) ||
        (f == aggregate_function::max && compare(*c, *out.value) > 0))
      out.value = c;
  }
  if (f == aggregate_function::count_nonnull) out.null = false;
  return out;
}

[[nodiscard]] inline bool is_near(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b));
}

inline void expect_aggregate(const arrow::Array& got, std::size_t i, aggregate_function f, const column_type& type,
                             const expected_aggregate& want) {
  const auto at = static_cast<std::int64_t>(i);
  ASSERT_EQ(got.IsNull(at), want.null);
  if (want.null) return;
  if (f == aggregate_function::count_nonnull) {
    EXPECT_EQ(static_cast<const arrow::Int64Array&>(got).Value(at), static_cast<std::int64_t>(want.whole));
  } else if (f == aggregate_function::sum) {
    if (engine::is_float(type.id)) {
      EXPECT_TRUE(is_near(static_cast<const arrow::DoubleArray&>(got).Value(at), want.number));
    } else if (got.type_id() == arrow::Type::DECIMAL128) {
      EXPECT_EQ(arrow::Decimal128(static_cast<const arrow::Decimal128Array&>(got).GetValue(at)).ToIntegerString(),
                decimal_value(want.whole).ToIntegerString());
    } else {
      EXPECT_EQ(static_cast<const arrow::Int64Array&>(got).Value(at), static_cast<std::int64_t>(want.whole));
    }
  } else {
    // 0.0 and -0.0 are equal, NaN is NaN: compared in the order of values, as an array of one.
    const auto alone = array_of(type, {want.value});
    const auto scalar = got.GetScalar(at).ValueOrDie();
    const auto expected = alone->GetScalar(0).ValueOrDie();
    EXPECT_TRUE(scalar->ApproxEquals(*expected, arrow::EqualOptions::Defaults().nans_equal(true)))
        << scalar->ToString() << " and not " << expected->ToString();
  }
}

/// Sums that a decimal of 38 digits cannot hold are refused by the engine: the model has them as 128 bits.
[[nodiscard]] inline bool sum_is_large(const model_table& t, std::size_t column, const row_numbers& rows) {
  double total = 0;
  for (const std::uint64_t r : rows) {
    if (t.rows[r][column] && std::holds_alternative<int128>(*t.rows[r][column]))
      total += std::abs(static_cast<double>(std::get<int128>(*t.rows[r][column])));
  }
  return total > 9e37;
}

/// Key columns out of the index are those of the rows, but for the sign of zero.
inline void expect_keys(const table_index& index, const model_table& t, const engine::range_batch& ranges,
                        const std::vector<row_numbers>& want) {
  const std::vector<std::size_t>& columns = index.spec().columns;
  for (const std::uint64_t limit : {engine::no_limit, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}}) {
    for (const key_order order : {key_order::ascending, key_order::descending}) {
      if (!index.gives_keys({limit, order})) {
        EXPECT_THROW(static_cast<void>(index.keys(ranges, {limit, order})), error);
        continue;
      }
      const auto got = index.keys(ranges, {limit, order});
      ASSERT_EQ(got.size(), columns.size());
      for (std::size_t c = 0; c < columns.size(); ++c) {
        cells expected;
        for (row_numbers rows : want) {
          if (order == key_order::descending) std::reverse(rows.begin(), rows.end());
          rows.resize(std::min<std::uint64_t>(rows.size(), limit));
          for (const std::uint64_t r : rows) expected.push_back(t.rows[r][columns[c]]);
        }
        const auto array = array_of(t.types[columns[c]], expected);
        const auto options = arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(true);
        EXPECT_TRUE(got[c]->Equals(*array, options)) << got[c]->ToString() << " and not " << array->ToString();
      }
    }
  }
}

inline void expect_ranges(const table_index& index, const model_table& t, const asked_ranges& q) {
  const std::vector<std::size_t>& columns = index.spec().columns;
  const engine::range_batch ranges = index.ranges(shape_of(t, columns, q));
  ASSERT_EQ(ranges.size(), q.n);
  std::vector<row_numbers> want;
  bool large = false;
  for (std::size_t i = 0; i < q.n; ++i) want.push_back(rows_in(t, columns, q, i));
  const auto counts = index.counts(ranges);
  for (const std::uint64_t limit : {engine::no_limit, std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{3}}) {
    for (const key_order order : {key_order::ascending, key_order::descending}) {
      const engine::row_lists got = index.rows(ranges, {limit, order});
      ASSERT_EQ(got.offsets.size(), q.n + 1);
      for (std::size_t i = 0; i < q.n; ++i) {
        row_numbers expected = want[i];
        if (order == key_order::descending) std::reverse(expected.begin(), expected.end());
        expected.resize(std::min<std::uint64_t>(expected.size(), limit));
        EXPECT_EQ(counts[i], want[i].size());
        EXPECT_EQ(row_numbers(got.rows.begin() + static_cast<std::ptrdiff_t>(got.offsets[i]),
                              got.rows.begin() + static_cast<std::ptrdiff_t>(got.offsets[i + 1])),
                  expected);
      }
    }
  }
  expect_keys(index, t, ranges, want);
  for (std::size_t c = 0; c < t.types.size(); ++c) {
    for (const auto f : {aggregate_function::count_nonnull, aggregate_function::sum, aggregate_function::min,
                         aggregate_function::max}) {
      if (!index.can_aggregate(f, c)) continue;
      large = false;
      for (std::size_t i = 0; i < q.n; ++i) large = large || sum_is_large(t, c, want[i]);
      if (large && f == aggregate_function::sum) continue;
      const auto got = index.aggregate(f, c, ranges);
      for (std::size_t i = 0; i < q.n; ++i) expect_aggregate(*got, i, f, t.types[c], aggregate_of(t, c, f, want[i]));
    }
  }
}

/// Nearest rows, for every choice of strict and direction.
inline void expect_as_of(const table_index& index, const model_table& t, const std::vector<cells>& equal,
                         const cells& at) {
  const std::vector<std::size_t>& columns = index.spec().columns;
  for (const bool strict : {false, true}) {
    for (const bool earlier : {false, true}) {
      engine::as_of_question question;
      asked_ranges q{equal, key_condition::between, {}, {}, !strict, !strict, at.size()};
      (earlier ? q.hi : q.lo) = at;
      for (std::size_t c = 0; c < equal.size(); ++c) question.equal.push_back(array_of(t.types[columns[c]], equal[c]));
      question.at = array_of(t.types[columns[equal.size()]], at);
      question.strict = strict;
      question.earlier = earlier;
      const row_numbers got = index.as_of(question);
      ASSERT_EQ(got.size(), at.size());
      for (std::size_t i = 0; i < at.size(); ++i) {
        const row_numbers near = rows_in(t, columns, q, i);
        EXPECT_EQ(got[i], near.empty() ? engine::no_row : earlier ? near.back() : near.front());
      }
    }
  }
}

/// Everything in order, from any place.
inline void expect_order(const table_index& index, const model_table& t) {
  row_numbers want = t.ordered(index.spec().columns);
  EXPECT_EQ(index.rows_indexed(), want.size());
  EXPECT_EQ(index.validate(), "");
  for (const key_order order : {key_order::ascending, key_order::descending}) {
    EXPECT_EQ(index.ordered_rows(order), want);
    const row_numbers part(want.begin() + static_cast<std::ptrdiff_t>(want.size() / 3),
                           want.begin() + static_cast<std::ptrdiff_t>(std::min(want.size(), want.size() / 3 + 4)));
    EXPECT_EQ(index.ordered_rows(order, want.size() / 3, 4), part);
    EXPECT_TRUE(index.ordered_rows(order, want.size() + 1, 4).empty());
    std::reverse(want.begin(), want.end());
  }
}

}  // namespace espalier::test
