// save_test.cpp - what was saved comes back; what was altered, or belongs to another table, is refused.
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/store/files.hpp"
#include "engine/store/sections.hpp"
#include "engine_index/tables.hpp"
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
  [[nodiscard]] std::unique_ptr<table_index> load(const model_table& t, const table_index& of) const {
    return table_index::load(t.now, of.spec(), engine::mapped_sections::open(path(), "index"), device::cpu(2));
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
