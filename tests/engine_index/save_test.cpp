// save_test.cpp - what was saved comes back; what was altered, or belongs to another table, is refused.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <thread>

#include "engine/parallel.hpp"
#include "engine/store/files.hpp"
#include "engine/store/sections.hpp"
#include "engine_index/tables.hpp"
#include "support/failing_pool.hpp"
#include "support/less_work.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::test {
namespace {

/// Sections in memory, some of which a test replaces.
class kept_sections final : public engine::section_writer {
 public:
  void begin(std::string_view name) override { sections.emplace_back(name, std::vector<std::byte>()); }
  void write(std::span<const std::byte> bytes) override {
    sections.back().second.insert(sections.back().second.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::pair<std::string, std::vector<std::byte>>> sections;
};

class saved_index : public testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path path() const { return folder_.file("index"); }
  void write(const kept_sections& kept) const {
    engine::output_file file(engine::plain_files(), path());
    engine::file_section_writer to(file, "index");
    for (const auto& [name, bytes] : kept.sections) to.add(name, bytes);
    to.finish();
    file.finish();
  }
  static kept_sections keep(const table_index& index) {
    kept_sections kept;
    index.save(kept);
    return kept;
  }
  [[nodiscard]] std::unique_ptr<table_index> load(const model_table& t, const table_index& of,
                                                  std::optional<engine::row_counts> covers = {},
                                                  const device& where = device::cpu(2)) const {
    return table_index::load(t.now, of.spec(), engine::mapped_sections::open(path(), "index"), where, covers);
  }

 private:
  const scratch_folder folder_;
};

model_table composite_table() {
  model_table t({{type_id::varchar}, {type_id::int32}});
  t.append({{text("b"), integer(1)},
            {text("a"), cell{}},
            {cell{}, integer(1)},
            {text(""), integer(3)},
            {text("a"), integer(1)},
            {text("b"), integer(1)}});
  return t;
}

TEST_F(saved_index, ComesBack) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append(numbered_rows(100, 30, 1, 10));
    const auto index = index_over(t, {0}, kind);
    apply(*index, t, numbered_rows(5, 30, 2, 3), {7, 8});  // pending changes are saved as well
    write(keep(*index));
    const auto back = load(t, *index);
    EXPECT_EQ(back->kind(), kind);
    expect_all(*back, t, {integer(-1), integer(3), integer(29)});
    apply(*back, t, numbered_rows(5, 30, 3, 3), {9, 101});
    expect_all(*back, t, {integer(-1), integer(3), integer(29)});
  }
}

TEST_F(saved_index, OfStringsAndNullsComesBack) {
  model_table t = composite_table();
  const auto index = index_over(t, {0, 1}, index_kind::automatic);
  write(keep(*index));
  const auto back = load(t, *index);
  expect_order(*back, t);
  expect_ranges(*back, t,
                {{{text("a"), text("b"), text("")}}, key_condition::between, cells{integer(1)}, {}, true, true, 3});
  model_table empty({{type_id::varchar}, {type_id::int32}});
  const auto nothing = index_over(empty, {0}, index_kind::automatic);
  write(keep(*nothing));
  expect_order(*load(empty, *nothing), empty);
}

/// What a planner asks of an index that it may not use: exact, and without a tree.
void expect_estimates_without_tree(const table_index& index, const column_type& type, const std::vector<cell>& values) {
  using engine::key_condition;
  std::vector<engine::key_ranges> shapes;
  const auto add = [&](key_condition condition, const std::shared_ptr<arrow::Array>& lo,
                       const std::shared_ptr<arrow::Array>& hi, bool lo_inclusive, bool hi_inclusive) {
    shapes.push_back({{}, condition, lo, hi, lo_inclusive, hi_inclusive});
  };
  add(key_condition::anything, nullptr, nullptr, true, true);
  add(key_condition::is_null, nullptr, nullptr, true, true);
  add(key_condition::between, nullptr, nullptr, true, true);
  for (const auto& lo : values) {
    const auto from = array_of(type, {lo});
    shapes.push_back({{from}, key_condition::anything, nullptr, nullptr, true, true});
    if (type.id == type_id::varchar) add(key_condition::prefix, from, nullptr, true, true);
    for (const bool inclusive : {true, false}) {
      add(key_condition::between, from, nullptr, inclusive, true);
      add(key_condition::between, nullptr, from, true, inclusive);
      for (const auto& hi : values) add(key_condition::between, from, array_of(type, {hi}), inclusive, !inclusive);
    }
  }
  std::vector<std::vector<std::uint64_t>> estimates;
  for (const auto& shape : shapes) estimates.push_back(index.estimates(index.ranges(shape)));
  EXPECT_TRUE(index.gives_keys({}));
  EXPECT_NE(index.explain().find("not built yet"), std::string::npos) << index.explain();
  EXPECT_GT(index.bytes(), 0U);
  EXPECT_FALSE(index.is_built());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(estimates[i], index.counts(index.ranges(shapes[i]))) << "shape " << i;
  }
  EXPECT_TRUE(index.is_built());
  EXPECT_EQ(index.explain().find("not built yet"), std::string::npos) << index.explain();
}

TEST_F(saved_index, EstimatesWithoutATree) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append(numbered_rows(500, 30, 1, 10));
    const auto index = index_over(t, {0}, kind);
    EXPECT_TRUE(index->is_built());
    write(keep(*index));
    expect_estimates_without_tree(*load(t, *index), {type_id::int32},
                                  {integer(std::numeric_limits<std::int32_t>::min()), integer(-1), integer(0),
                                   integer(3), integer(29), integer(std::numeric_limits<std::int32_t>::max())});
  }
  for (const std::vector<std::size_t>& columns : {std::vector<std::size_t>{0}, {0, 1}}) {
    model_table t = composite_table();
    const auto index = index_over(t, columns, index_kind::automatic);
    write(keep(*index));
    expect_estimates_without_tree(*load(t, *index), {type_id::varchar}, {text(""), text("a"), text("aa"), text("z")});
  }
}

TEST_F(saved_index, OfAnotherTableIsRefused) {
  model_table t({{type_id::int32}, {type_id::int64}});
  t.append(numbered_rows(100, 30, 1, 10));
  const auto index = index_over(t, {0}, index_kind::static_tree);
  write(keep(*index));
  model_table larger = t;
  larger.append(numbered_rows(1, 30, 1));
  EXPECT_THROW(static_cast<void>(load(larger, *index)), engine::damaged_file);
  model_table other = t;
  other.take(other.with({{integer(1), integer(1)}}, {4}), {{integer(1), integer(1)}}, {4});
  EXPECT_THROW(static_cast<void>(load(other, *index)), engine::damaged_file);
  engine::index_spec spec = index->spec();
  spec.columns = {1};
  const auto from = engine::mapped_sections::open(path(), "index");
  EXPECT_THROW(static_cast<void>(table_index::load(t.now, spec, from, device::cpu(1))), engine::damaged_file);
}

TEST_F(saved_index, ADeferredOneIsOpenedOnceByItsFirstUse) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append(numbered_rows(5000, 30, 1, 10));
    const auto index = index_over(t, {0}, kind);
    write(keep(*index));
    std::atomic<int> opened = 0;
    const auto deferred = table_index::deferred(t.now, index->spec(), device::cpu(2), [&](const auto& table) {
      if (opened++ == 0) throw error("not yet");
      EXPECT_EQ(table, t.now);
      return load(t, *index);
    });
    EXPECT_EQ(deferred->spec().columns, index->spec().columns);
    EXPECT_TRUE(deferred->is_whole());
    EXPECT_FALSE(deferred->is_built());
    EXPECT_EQ(opened, 0);
    EXPECT_THROW(static_cast<void>(deferred->kind()), error);
    EXPECT_FALSE(deferred->is_open());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(deferred->rows_indexed(), 5000U); });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(opened, 2);
    EXPECT_TRUE(deferred->is_open());
    EXPECT_EQ(deferred->layout(), index->layout());
    apply(*deferred, t, numbered_rows(5, 30, 2, 3), {7, 8});
    EXPECT_EQ(deferred->validate(), "");
  }
}

/// Adds and deletes rows of the table only.
void change(model_table& t, const rows_of_cells& in, const row_numbers& out) { t.take(t.with(in, out), in, out); }

TEST_F(saved_index, IsMergedWithRowsThatCameAndWent) {
  for (const index_kind kind : all_kinds) {
    for (const std::size_t rows : {0u, 1u, 100u}) {
      model_table t({{type_id::int32}, {type_id::int64}});
      t.append(numbered_rows(rows, 30, 1, 10));
      const auto index = index_over(t, {0}, kind);
      write(keep(*index));
      const auto covers = t.now->counts();
      const auto expect = [&](const char* when) {
        SCOPED_TRACE(when);
        const auto back = load(t, *index, covers);
        ASSERT_TRUE(back);
        EXPECT_EQ(back->kind(), kind);
        EXPECT_EQ(back->layout(), index->layout());
        EXPECT_EQ(back->validate(), "");
        EXPECT_TRUE(back->gives_keys({})) << "nothing is pending";
        expect_all(*back, t, {integer(-1), integer(3), integer(29)});
      };
      expect("nothing has changed");
      change(t, numbered_rows(50, 40, 2, 5), {});
      expect("rows were added");
      if (rows == 100) change(t, {}, {0, 7, 99, 100, 149});
      expect("rows were deleted, old ones and new ones");
      change(t, numbered_rows(3, 30, 4, 2), {});
      expect("rows were added to those");
      row_numbers live;
      for (std::uint64_t row = 0; row < t.rows.size(); ++row) {
        if (t.live[row]) live.push_back(row);
      }
      change(t, {}, live);
      expect("all are gone");
      change(t, {{integer(3), integer(0)}, {cell{}, integer(0)}, {integer(3), integer(0)}}, {});
      expect("some came again");
    }
  }
}

TEST_F(saved_index, OfStringsAndCompositesIsMerged) {
  for (const std::vector<std::size_t>& columns : {std::vector<std::size_t>{0}, {0, 1}, {1, 0}, {1}}) {
    model_table t = composite_table();
    const auto index = index_over(t, columns, index_kind::automatic);
    write(keep(*index));
    const auto covers = t.now->counts();
    change(t,
           {{text("b"), integer(1)},
            {text("a"), integer(2)},
            {cell{}, cell{}},
            {text("aa"), integer(1)},
            {text(""), integer(1)},
            {text("c"), integer(3)}},
           {0, 3, 4});
    change(t, {}, {7});
    const auto back = load(t, *index, covers);
    ASSERT_TRUE(back);
    EXPECT_EQ(back->validate(), "");
    expect_order(*back, t);
  }
}

TEST_F(saved_index, IsNotMergedWithKeysThatItsFieldsDoNotHold) {
  model_table t({{type_id::int64}, {type_id::int64}});
  t.append({{integer(1), integer(5)}, {integer(2), integer(6)}});
  const auto index = index_over(t, {0, 1}, index_kind::static_tree);
  write(keep(*index));
  const auto covers = t.now->counts();
  change(t, {{integer(3), integer(4)}}, {0});
  EXPECT_TRUE(load(t, *index, covers));
  change(t, {{integer(std::numeric_limits<std::int64_t>::max()), integer(4)}}, {});
  EXPECT_FALSE(load(t, *index, covers));
  change(t, {}, {3});
  EXPECT_TRUE(load(t, *index, covers)) << "it is gone again";
  change(t, {{cell{}, integer(4)}}, {});
  EXPECT_FALSE(load(t, *index, covers)) << "fields without a code for NULL";
}

TEST_F(saved_index, ThatCoversOtherRowsIsRefused) {
  model_table t({{type_id::int32}, {type_id::int64}});
  t.append(numbered_rows(100, 30, 1, 10));
  change(t, {}, {3, 4});
  const auto index = index_over(t, {0}, index_kind::static_tree);
  write(keep(*index));
  ASSERT_EQ(t.now->counts(), (engine::row_counts{100, 98}));
  change(t, numbered_rows(10, 30, 2), {50});
  EXPECT_TRUE(load(t, *index, engine::row_counts{100, 98}));
  constexpr std::uint64_t all = std::numeric_limits<std::uint64_t>::max();
  for (const auto& wrong : {engine::row_counts{100, 97},
                            {100, 99},
                            {99, 98},
                            {98, 98},
                            {101, 98},
                            {110, 98},
                            {111, 98},
                            {0, 0},
                            {all, 98},
                            {100, all},
                            {all, all}}) {
    EXPECT_THROW(static_cast<void>(load(t, *index, wrong)), engine::damaged_file) << wrong.rows << " " << wrong.live;
  }
  EXPECT_THROW(static_cast<void>(load(t, *index)), engine::damaged_file);
}

TEST_F(saved_index, UniqueIsStillSoWhenMerged) {
  model_table t({{type_id::int32}, {type_id::int64}});
  t.append({{integer(1), integer(1)}, {integer(2), integer(1)}, {cell{}, integer(1)}});
  const auto index = index_over(t, {0}, index_kind::automatic, true);
  write(keep(*index));
  const auto covers = t.now->counts();
  change(t, {{integer(2), integer(2)}, {cell{}, integer(2)}}, {1});
  const auto back = load(t, *index, covers);
  ASSERT_TRUE(back);
  expect_order(*back, t);
  const rows_of_cells twice = {{integer(2), integer(3)}};
  EXPECT_THROW(static_cast<void>(back->prepare(t.with(twice, {}), {}, t.next_ids(1))), engine::unique_violation);
}

TEST_F(saved_index, BuildsItsTreeAtTheFirstQuestion) {
  for (const index_kind kind : all_kinds) {
    SCOPED_TRACE(engine::to_string(kind));
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append(numbered_rows(5000, 300, 1, 10));
    const auto index = index_over(t, {0}, kind);
    write(keep(*index));
    const auto covers = t.now->counts();
    change(t, numbered_rows(20, 300, 2, 10), {4, 5});
    const auto pool = std::make_shared<failing_pool>(device::cpu(2).pool());
    const auto back = load(t, *index, covers, device::cpu(2).with_pool(pool));
    ASSERT_TRUE(back);
    EXPECT_EQ(back->kind(), kind);
    EXPECT_EQ(back->has_ranks(), index->has_ranks());
    EXPECT_EQ(back->layout(), index->layout());
    EXPECT_EQ(back->rows_indexed(), t.now->live_rows());
    const auto nulls = std::ranges::count_if(t.ordered({0}), [&](std::uint64_t row) { return !t.rows[row][0]; });
    EXPECT_EQ(back->null_rows(), static_cast<std::uint64_t>(nulls));
    EXPECT_TRUE(back->is_whole());
    EXPECT_EQ(pool->requests(), 0u) << "none of this needs the tree";
    // Without memory a question fails, and the next one finds the index as it was loaded.
    std::size_t failures = 0;
    for (std::size_t k = 1;; ++k) {
      ASSERT_LT(k, 1000u);
      pool->fail_at(k);
      try {
        EXPECT_EQ(back->counts(back->ranges({}))[0], t.now->live_rows());
        break;
      } catch (const out_of_memory&) {
        ++failures;
      }
    }
    pool->fail_at(0);
    // The leaves of a hybrid tree are not in the device's memory.
    EXPECT_TRUE(failures != 0 || kind == index_kind::hybrid);
    EXPECT_EQ(back->validate(), "");
    expect_all(*back, t, {integer(-1), integer(3), integer(299)});
    apply(*back, t, numbered_rows(5, 300, 3, 3), {9, 101});
    expect_all(*back, t, {integer(-1), integer(3), integer(299)});
  }
}

// All threads of a loop ask first, and so do threads of its own making.
TEST_F(saved_index, IsAskedFirstByManyThreads) {
  for (const index_kind kind : all_kinds) {
    model_table t({{type_id::int32}, {type_id::int64}});
    t.append(numbered_rows(20'000, 300, 1, 10));
    const auto index = index_over(t, {0}, kind);
    write(keep(*index));
    for (int attempt = 0; attempt < 10; ++attempt) {
      const auto back = load(t, *index);
      std::atomic<int> right = 0;
      const auto ask = [&] { right += back->counts(back->ranges({}))[0] == t.now->live_rows() ? 1 : 0; };
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] { engine::parallel_for(16, [&](std::size_t) { ask(); }); });
      }
      for (auto& thread : threads) thread.join();
      EXPECT_EQ(right, 64) << engine::to_string(kind);
    }
  }
}

/// Checksums are right, but what they cover is not: bytes are changed before they are written.
TEST_F(saved_index, AlteredSectionsAreRefusedOrMeanTheSame) {
  model_table words({{type_id::int32}, {type_id::int64}});
  words.append(numbered_rows(40, 10, 1, 10));
  const model_table strings = composite_table();
  std::mt19937 random(1);
  const struct {
    const model_table& table;
    std::unique_ptr<table_index> index;
  } subjects[] = {{words, index_over(words, {0}, index_kind::static_tree)},
                  {words, index_over(words, {0}, index_kind::blink)},
                  {words, index_over(words, {1, 0}, index_kind::static_tree)},
                  {strings, index_over(strings, {0, 1}, index_kind::radix)}};
  for (const auto& [table, index] : subjects) {
    for (std::uint32_t i = 0; i < 80 / less_work; ++i) {
      kept_sections kept = keep(*index);
      auto& bytes = kept.sections[random() % kept.sections.size()].second;
      if (bytes.empty()) continue;
      if (i % 4 == 0) {
        bytes.resize(random() % bytes.size());
      } else {
        bytes[random() % bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
      }
      write(kept);
      try {
        const auto back = load(table, *index);
        // Words and strings that still ascend are for checksums to find; every row must be there once all the same.
        EXPECT_EQ(back->ordered_rows(key_order::ascending).size(), index->rows_indexed());
        EXPECT_EQ(back->counts(back->ranges({}))[0], index->rows_indexed());
      } catch (const error&) {
      }
    }
  }
}

TEST_F(saved_index, WithoutASectionIsRefused) {
  const model_table t = composite_table();
  for (const index_kind kind : {index_kind::radix, index_kind::static_tree}) {
    const auto index = index_over(t, {kind == index_kind::radix ? 0u : 1u}, kind);
    for (std::size_t i = 0; i < keep(*index).sections.size(); ++i) {
      kept_sections kept = keep(*index);
      kept.sections.erase(kept.sections.begin() + static_cast<std::ptrdiff_t>(i));
      write(kept);
      EXPECT_THROW(static_cast<void>(load(t, *index)), engine::damaged_file);
    }
  }
}

}  // namespace
}  // namespace espalier::test
