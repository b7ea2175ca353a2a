// unique_test.cpp - a unique index refuses a second row with a key, names it, and is as it was.
#include "engine_index/tables.hpp"

namespace espalier::test {
namespace {

std::string refusal(table_index& index, const model_table& t, const rows_of_cells& in, const row_numbers& out) {
  try {
    static_cast<void>(index.prepare(t.with(in, out), out, t.next_ids(in.size())));
  } catch (const engine::unique_violation& refused) {
    EXPECT_GE(refused.row(), t.rows.size());
    return refused.what();
  }
  return "";
}

TEST(Unique, ViolationsNameIndexAndKey) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append({{integer(5), integer(0)}, {integer(7), integer(0)}, {cell{}, integer(0)}});
    const auto index = index_over(t, {0}, kind, true);
    EXPECT_EQ(refusal(*index, t, {{integer(7), integer(1)}}, {}),
              "index \"by_key\" is unique, and the key (c0) = (7) is there already.");
    EXPECT_NE(refusal(*index, t, {{integer(9), integer(1)}, {integer(9), integer(1)}}, {}), "");
    expect_all(*index, t, {integer(5), integer(7)});
    apply(*index, t, {{cell{}, integer(1)}, {cell{}, integer(1)}}, {});              // NULLs are never equal
    apply(*index, t, {{integer(7), integer(1)}, {integer(5), integer(1)}}, {0, 1});  // an UPDATE that swaps
    EXPECT_NE(refusal(*index, t, {{integer(7), integer(2)}, {integer(5), integer(1)}}, {5}), "");
    expect_all(*index, t, {integer(5), integer(7)});
  }
}

TEST(Unique, LongKeysAreCutInMessages) {
  model_table t({{type_id::varchar}, {type_id::int64}});
  std::string key = "k";
  for (int i = 0; i < 50'000; ++i) key += "\xC3\xA4";  // characters of two bytes
  t.append({{text(key), integer(0)}});
  const auto index = index_over(t, {0}, index_kind::radix, true);
  const auto sentence = refusal(*index, t, {{text(key), integer(1)}}, {});
  EXPECT_LT(sentence.size(), 300U);
  EXPECT_NE(sentence.find("\xC3\xA4...) is there already."), std::string::npos) << sentence;
}

TEST(Unique, ATableWithDuplicatesIsRefused) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append({{integer(5), integer(0)}, {integer(7), integer(0)}, {integer(5), integer(0)}});
    EXPECT_THROW(static_cast<void>(index_over(t, {0}, kind, true)), engine::unique_violation);
    t.take(t.with({}, {0}), {}, {0});
    expect_all(*index_over(t, {0}, kind, true), t, {integer(5), integer(7)});
  }
}

TEST(Unique, AnEmptyTableGetsAnIndexThatTakesWrites) {
  model_table t({{type_id::int32}, {type_id::int64}});
  const auto index = index_over(t, {0}, index_kind::automatic, true);
  EXPECT_EQ(index->kind(), index_kind::blink);
  for (std::int64_t i = 0; i < 20; ++i) apply(*index, t, {{integer(i * 7 % 20), integer(i)}}, {});
  expect_all(*index, t, {integer(0), integer(7), integer(30)});
  EXPECT_NE(refusal(*index, t, {{integer(7), integer(2)}}, {}), "");
}

TEST(Unique, AnIndexThatALoadFillsIsChosenAnew) {
  model_table t({{type_id::int32}, {type_id::int64}});
  const auto index = index_over(t, {0}, index_kind::automatic, true);
  rows_of_cells rows;
  for (std::int64_t i = 0; i < 1100; ++i) rows.push_back({integer(i * 7 % 1100), integer(i)});
  apply(*index, t, rows, {});
  EXPECT_EQ(index->kind(), index_kind::static_tree);
  expect_all(*index, t, {integer(-1), integer(7), integer(2000)});
  EXPECT_NE(refusal(*index, t, {{integer(7), integer(2)}}, {}), "");
}

TEST(Unique, RowsThatAreNotThereCannotBeErased) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append(numbered_rows(20, 5, 1, 4));
    const auto index = index_over(t, {0}, kind);
    apply(*index, t, {}, {3});
    const row_numbers again = {3};
    const row_numbers twice = {4, 4};
    EXPECT_THROW(index->erase(t.now, again), error);
    EXPECT_THROW(index->erase(t.now, twice), error);
    expect_all(*index, t, {integer(0), integer(3)});
  }
}

}  // namespace
}  // namespace espalier::test
