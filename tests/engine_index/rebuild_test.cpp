// rebuild_test.cpp - changes after which an index is rebuilt; it gives the same answers as before.
#include "engine_index/tables.hpp"

namespace espalier::test {
namespace {

const cells places = {integer(-1), integer(0), integer(3), integer(40), integer(77), integer(99)};

TEST(Rebuild, ManyChangesAreMergedIntoTheTree) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append(numbered_rows(300, 100, 1, 20));
    const auto index = index_over(t, {0}, kind);
    apply(*index, t, numbered_rows(1000, 100, 2, 20), {0, 1, 5});
    EXPECT_EQ(kind == index_kind::static_tree || kind == index_kind::radix,
              index->explain().find("1003 pending") != std::string::npos);
    expect_all(*index, t, places);
    apply(*index, t, numbered_rows(30, 100, 3), {2, 300, 301});  // more than 1024 in all
    EXPECT_EQ(index->explain().find("pending"), std::string::npos) << index->explain();
    expect_all(*index, t, places);
    apply(*index, t, {}, {3, 400, 1310});
    expect_all(*index, t, places);
  }
}

TEST(Rebuild, AggregatesFollowEveryChange) {
  model_table t({{type_id::int32}, {type_id::int64}});
  t.append(numbered_rows(5000, 100, 4, 20));
  const auto index = index_over(t, {0}, index_kind::static_tree);
  const asked_ranges q{{}, key_condition::between, cells{integer(10), integer(50)}, cells{integer(60)}, true, true, 2};
  for (std::uint64_t step = 0; step < 4; ++step) {
    expect_ranges(*index, t, q);
    apply(*index, t, numbered_rows(7, 100, static_cast<std::uint32_t>(step)),
          {step * 100, 4998 - step, 4999 + step * 5});
  }
  expect_ranges(*index, t, q);
}

TEST(Rebuild, CompositeKeysOutgrowTheirFields) {
  for (const index_kind kind : word_kinds) {
    model_table t({{type_id::int64}, {type_id::int64}});
    t.append({{integer(1), integer(5)}, {integer(2), integer(6)}, {integer(1), integer(4)}});
    const auto index = index_over(t, {0, 1}, kind, true);
    EXPECT_EQ(index->kind(), kind);
    const std::int64_t far = std::numeric_limits<std::int64_t>::max();
    apply(*index, t, {{integer(70000), integer(-90000)}}, {0});
    EXPECT_EQ(index->kind(), kind);
    apply(*index, t, {{integer(3), cell{}}, {integer(3), cell{}}, {cell{}, integer(1)}}, {});
    EXPECT_EQ(index->kind(), kind);
    expect_ranges(*index, t, {{{integer(3)}}, key_condition::is_null, {}, {}, true, true, 1});
    expect_ranges(*index, t, {{{integer(3)}}, key_condition::anything, {}, {}, true, true, 1});
    apply(*index, t, {{integer(-far), integer(far)}, {integer(far), integer(-far)}}, {1});
    EXPECT_EQ(index->kind(), index_kind::radix);  // 128 bits
    expect_order(*index, t);
    const asked_ranges q{
        {{integer(1), integer(-far), integer(3)}}, key_condition::between, cells{integer(4)}, {}, true, true, 3};
    expect_ranges(*index, t, q);
    const auto next = t.with({{integer(far), integer(-far)}}, {});
    EXPECT_THROW(static_cast<void>(index->prepare(next, {}, t.next_ids(1))), engine::unique_violation);
  }
}

TEST(Rebuild, AFirstNullInABytesKey) {
  model_table t({{type_id::varchar}, {type_id::int32}});
  t.append({{text("b"), integer(1)}, {text("a"), integer(2)}, {text("a"), integer(1)}});
  const auto index = index_over(t, {0, 1}, index_kind::automatic);
  EXPECT_EQ(index->kind(), index_kind::radix);
  apply(*index, t, {{text("a"), cell{}}, {cell{}, integer(1)}}, {});
  expect_order(*index, t);
  expect_ranges(*index, t, {{{text("a")}}, key_condition::between, cells{integer(2)}, {}, true, true, 1});
  expect_ranges(*index, t, {{{text("a")}}, key_condition::is_null, {}, {}, true, true, 1});
  expect_ranges(*index, t, {{}, key_condition::is_null, {}, {}, true, true, 1});
  expect_ranges(*index, t, {{}, key_condition::prefix, cells{text("")}, {}, true, true, 1});
}

TEST(Rebuild, RangesMadeBeforeAreRefused) {
  model_table t({{type_id::int32}, {type_id::int64}});
  t.append(numbered_rows(10, 100, 1));
  const auto index = index_over(t, {0}, index_kind::static_tree);
  const auto before = index->ranges({});
  EXPECT_EQ(index->counts(before)[0], 10u);
  apply(*index, t, numbered_rows(2000, 100, 2), {});
  EXPECT_THROW(static_cast<void>(index->counts(before)), error);
  const auto other = index_over(t, {0}, index_kind::static_tree);
  EXPECT_THROW(static_cast<void>(index->rows(other->ranges({}))), error);
  EXPECT_EQ(index->counts(index->ranges({}))[0], 2010u);
}

}  // namespace
}  // namespace espalier::test
