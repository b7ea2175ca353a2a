// aggregate_test.cpp - aggregates at sizes where blocks of blocks matter, at the ends of types, and on the device side.
#include <numeric>

#include "engine/index/word_device.hpp"
#include "engine_index/tables.hpp"

namespace espalier::test {
namespace {

using engine::aggregate_function;

engine::range_batch between(const table_index& index, std::vector<std::int64_t> lo, std::vector<std::int64_t> hi) {
  cells a, b;
  for (const std::int64_t x : lo) a.push_back(integer(x));
  for (const std::int64_t x : hi) b.push_back(integer(x));
  engine::key_ranges shape;
  shape.condition = key_condition::between;
  shape.lo = array_of({type_id::int64}, a);
  shape.hi = array_of({type_id::int64}, b);
  return index.ranges(shape);
}

/// Rows (i, value(i)).
template <class Value>
model_table counted(std::size_t n, const column_type& type, const Value& value_at) {
  model_table t({{type_id::int64}, type});
  rows_of_cells rows;
  for (std::size_t i = 0; i < n; ++i) rows.push_back({integer(static_cast<std::int64_t>(i)), value_at(i)});
  t.append(rows);
  return t;
}

TEST(Aggregate, RangesOfAnyLengthOverManyBlocks) {
  for (const std::size_t n : {1u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 20000u}) {
    const model_table t = counted(n, {type_id::int64}, [](std::size_t i) {
      return i % 11 == 0 ? cell{} : integer(static_cast<std::int64_t>(i * 2654435761u % 1000003));
    });
    const auto index = index_over(t, {0}, index_kind::static_tree);
    std::vector<int128> sums{0};
    for (std::size_t i = 0; i < n; ++i)
      sums.push_back(sums.back() + (t.rows[i][1] ? std::get<int128>(*t.rows[i][1]) : 0));
    std::mt19937 random(5);
    std::vector<std::int64_t> lo, hi;
    for (int i = 0; i < 200; ++i) {
      lo.push_back(static_cast<std::int64_t>(random() % n));
      hi.push_back(static_cast<std::int64_t>(random() % n));
    }
    lo.insert(lo.end(), {0, 0, 63, 64});
    hi.insert(hi.end(), {static_cast<std::int64_t>(n) - 1, 63, 64, 127});
    const auto got = index->aggregate(aggregate_function::sum, 1, between(*index, lo, hi));
    const auto least = index->aggregate(aggregate_function::min, 1, between(*index, lo, hi));
    for (std::size_t i = 0; i < lo.size(); ++i) {
      row_numbers rows;
      for (std::int64_t r = lo[i]; r <= std::min<std::int64_t>(hi[i], static_cast<std::int64_t>(n) - 1); ++r)
        rows.push_back(static_cast<std::uint64_t>(r));
      expect_aggregate(*got, i, aggregate_function::sum, {type_id::int64},
                       aggregate_of(t, 1, aggregate_function::sum, rows));
      expect_aggregate(*least, i, aggregate_function::min, {type_id::int64},
                       aggregate_of(t, 1, aggregate_function::min, rows));
    }
  }
}

TEST(Aggregate, SmallNumbersBehindLargeOnesAreNotLost) {
  const model_table t = counted(10000, {type_id::float64}, [](std::size_t i) { return real(i < 5000 ? 1e300 : 1e-3); });
  for (const index_kind kind : all_kinds) {
    const auto index = index_over(t, {0}, kind);
    const auto got = index->aggregate(aggregate_function::sum, 1, between(*index, {5000}, {9999}));
    EXPECT_NEAR(static_cast<const arrow::DoubleArray&>(*got).Value(0), 5.0, 1e-9);
  }
}

TEST(Aggregate, SumsOfLargeIntegersAreExact) {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const model_table t = counted(1000, {type_id::int64}, [&](std::size_t i) { return integer(i < 900 ? most : -most); });
  for (const index_kind kind : all_kinds) {
    const auto index = index_over(t, {0}, kind);
    const auto got = index->aggregate(aggregate_function::sum, 1, between(*index, {0, 0}, {899, 999}));
    expect_aggregate(*got, 0, aggregate_function::sum, {type_id::int64}, {false, int128{900} * most, 0, {}});
    expect_aggregate(*got, 1, aggregate_function::sum, {type_id::int64}, {false, int128{800} * most, 0, {}});
  }
}

TEST(Aggregate, SumsOfDecimalsOverflowOnlyIfTheResultDoes) {
  int128 most = 1;
  for (int i = 0; i < 38; ++i) most *= 10;
  most -= 1;
  const model_table t =
      counted(300, {type_id::decimal, 38, 0}, [&](std::size_t i) { return cell(value(i % 2 == 0 ? most : -most)); });
  for (const index_kind kind : all_kinds) {
    const auto index = index_over(t, {0}, kind);
    const auto got = index->aggregate(aggregate_function::sum, 1, between(*index, {0, 0}, {299, 298}));
    expect_aggregate(*got, 0, aggregate_function::sum, {type_id::decimal, 38, 0}, {false, 0, 0, {}});
    expect_aggregate(*got, 1, aggregate_function::sum, {type_id::decimal, 38, 0}, {false, most, 0, {}});
    model_table twice = counted(2, {type_id::decimal, 38, 0}, [&](std::size_t) { return cell(value(most)); });
    const auto over = index_over(twice, {0}, kind);
    EXPECT_THROW(static_cast<void>(over->aggregate(aggregate_function::sum, 1, between(*over, {0}, {1}))), overflow);
  }
}

TEST(Aggregate, OfStringsIsRefused) {
  model_table t({{type_id::int64}, {type_id::varchar}});
  t.append({{integer(1), text("a")}});
  const auto index = index_over(t, {0}, index_kind::static_tree);
  EXPECT_FALSE(index->can_aggregate(aggregate_function::min, 1));
  EXPECT_THROW(static_cast<void>(index->aggregate(aggregate_function::min, 1, between(*index, {0}, {1}))), error);
  EXPECT_THROW(static_cast<void>(index->aggregate(aggregate_function::sum, 2, between(*index, {0}, {1}))), error);
}

// ---- the side that a GPU has, on a CPU ---------------------------------------------------------------------------

template <class Word>
void expect_device_side(const column_type& type, const device& where) {
  std::mt19937 random(7);
  std::vector<Word> keys(3000);
  for (Word& k : keys) k = static_cast<Word>(random() % 1000 + 5);
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0);
  const model_table t =
      counted(keys.size(), type, [](std::size_t i) { return integer(static_cast<std::int64_t>(i % 100)); });
  const engine::word_device<Word> side(std::span<const Word>(keys), engine::number_array(rows), where);
  EXPECT_EQ(side.validate(), "");
  std::vector<std::uint64_t> lo, hi;
  for (int i = 0; i < 500; ++i) {
    lo.push_back(1 + random() % 1020);
    hi.push_back(1 + random() % 1020);
  }
  const auto first = side.edge(lo, hi, false);
  const auto last = side.edge(lo, hi, true);
  const auto sums = side.sum({*t.now, 1}, lo, hi);
  ASSERT_TRUE(first && last && sums);
  for (std::size_t i = 0; i < lo.size(); ++i) {
    const auto from = std::lower_bound(keys.begin(), keys.end(), lo[i]) - keys.begin();
    const auto to = std::upper_bound(keys.begin(), keys.end(), hi[i]) - keys.begin();
    row_numbers in;
    for (auto r = from; r < to; ++r) in.push_back(static_cast<std::uint64_t>(r));
    EXPECT_EQ((*first)[i], in.empty() ? engine::no_row : in.front());
    EXPECT_EQ((*last)[i], in.empty() ? engine::no_row : in.back());
    expect_aggregate(*sums, i, aggregate_function::sum, type, aggregate_of(t, 1, aggregate_function::sum, in));
  }
  const std::vector<std::uint64_t> all = {std::numeric_limits<Word>::max()};
  EXPECT_FALSE(side.edge(all, all, true));
}

TEST(DeviceSide, AnswersAsTheHostDoes) {
  for (const device& where : device::all()) {
    for (const type_id id : {type_id::int8, type_id::int16, type_id::int32, type_id::int64}) {
      expect_device_side<std::uint32_t>({id}, where);
      expect_device_side<std::uint64_t>({id}, where);
    }
  }
}

TEST(DeviceSide, ASumOfZeroIsNotNull) {
  const std::vector<std::int64_t> values = {5, -5, 0, 7};
  const std::vector<std::uint32_t> keys = {1, 2, 3, 4};
  const engine::number_array rows(std::vector<std::uint32_t>{0, 1, 2, 3});
  const std::vector<std::uint64_t> lo = {1, 3, 5, 4, 0, 3}, hi = {2, 3, 9, 4, 0, 2};
  for (const device& where : device::all()) {
    const engine::word_device<std::uint32_t> side(keys, rows, where);
    const model_table t = counted(4, {type_id::int64}, [&](std::size_t i) { return integer(values[i]); });
    const auto sums = side.sum({*t.now, 1}, lo, hi);
    ASSERT_TRUE(sums);
    const row_numbers in[] = {{0, 1}, {2}, {}, {3}, {}, {}};
    for (std::size_t i = 0; i < lo.size(); ++i) {
      expect_aggregate(*sums, i, aggregate_function::sum, {type_id::int64},
                       aggregate_of(t, 1, aggregate_function::sum, in[i]));
    }
  }
}

TEST(DeviceSide, HasNoSumsOfDecimalsFloatsAndNulls) {
  const std::vector<std::uint32_t> keys = {1, 2, 3};
  const engine::word_device<std::uint32_t> side(keys, engine::number_array(std::vector<std::uint32_t>{0, 1, 2}),
                                                device::cpu(1));
  const std::vector<std::uint64_t> ends = {1};
  const model_table nulls = counted(3, {type_id::int64}, [](std::size_t i) { return i == 1 ? cell{} : integer(1); });
  EXPECT_EQ(side.sum({*nulls.now, 1}, ends, ends), nullptr);
  const model_table decimals = counted(3, {type_id::decimal, 10, 2}, [](std::size_t) { return integer(1); });
  EXPECT_EQ(side.sum({*decimals.now, 1}, ends, ends), nullptr);
  const model_table floats = counted(3, {type_id::float64}, [](std::size_t) { return real(1); });
  EXPECT_EQ(side.sum({*floats.now, 1}, ends, ends), nullptr);
}

/// On a GPU batches of this size go to the device; everywhere they are answered.
TEST(DeviceSide, LargeBatchesThroughTheIndex) {
  for (const device& where : device::all()) {
    for (const index_kind kind : all_kinds) {
      model_table t({{type_id::int64}, {type_id::int64}});
      t.append(numbered_rows(3000, 500, 1, 30));
      const auto index = index_over(t, {0}, kind, false, where);
      std::mt19937 random(1);
      cells lo, hi;
      for (int i = 0; i < 5000; ++i) {
        const auto a = static_cast<std::int64_t>(random() % 520) - 10;
        lo.push_back(integer(a));
        hi.push_back(integer(a + static_cast<std::int64_t>(random() % 4)));
      }
      const auto ranges = index->ranges(
          {{}, key_condition::between, array_of({type_id::int64}, lo), array_of({type_id::int64}, hi), true, true});
      const auto counts = index->counts(ranges);
      const auto rows = index->rows(ranges);
      const auto sums = index->aggregate(aggregate_function::sum, 1, ranges);
      engine::as_of_question question;
      question.at = array_of({type_id::int64}, lo);
      const auto nearest = index->as_of(question);
      for (std::size_t i = 0; i < lo.size(); i += 97) {
        const asked_ranges q{{}, key_condition::between, cells{lo[i]}, cells{hi[i]}, true, true, 1};
        const row_numbers want = rows_in(t, {0}, q, 0);
        EXPECT_EQ(counts[i], want.size());
        EXPECT_EQ(row_numbers(rows.rows.begin() + static_cast<std::ptrdiff_t>(rows.offsets[i]),
                              rows.rows.begin() + static_cast<std::ptrdiff_t>(rows.offsets[i + 1])),
                  want);
        expect_aggregate(*sums, i, aggregate_function::sum, {type_id::int64},
                         aggregate_of(t, 1, aggregate_function::sum, want));
        const row_numbers before = rows_in(t, {0}, {{}, key_condition::between, {}, cells{lo[i]}, true, true, 1}, 0);
        EXPECT_EQ(nearest[i], before.empty() ? engine::no_row : before.back());
      }
    }
  }
}

}  // namespace
}  // namespace espalier::test
