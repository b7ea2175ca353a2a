// leftovers_test.cpp - opening removes only files that are known to be garbage; an older catalog destroys nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "engine/store/store.hpp"
#include "engine_store/sample_states.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;
using namespace espalier::test;

std::vector<saved_table> with_table(std::vector<saved_table> tables, const std::string& name, std::uint64_t seed) {
  tables.push_back({name, "", table_version::from(random_rows(5, seed)), {}});
  return tables;
}

// What an open store found, to be committed as it is. The tables have no indexes.
std::vector<saved_table> unchanged(store& opened) {
  std::vector<saved_table> same;
  for (const auto& table : opened.tables()) same.push_back({table.name, table.about, table.rows, {}});
  return same;
}

bool has_all(const std::vector<std::string>& names, const std::vector<std::string>& wanted) {
  return std::ranges::includes(names, wanted);
}

TEST(StoreLeftovers, AnOlderCatalogDestroysNothing) {
  const scratch_folder scratch;
  const auto folder = scratch.path() / "db";
  const auto first = with_table({}, "orders", 1);
  const auto second = with_table(first, "made", 10);
  {
    const auto opened = store::open(folder);
    opened->commit(first);
    std::filesystem::copy(folder / "catalog.json", scratch.path() / "older.json");
    opened->commit(second);
  }
  std::filesystem::copy(folder / "catalog.json", scratch.path() / "newer.json");
  const auto files = names_in(folder);
  const auto restore = [&](const char* catalog) {
    std::filesystem::copy(scratch.path() / catalog, folder / "catalog.json",
                          std::filesystem::copy_options::overwrite_existing);
  };
  restore("older.json");
  EXPECT_EQ(text_in(folder), text_of(first));
  EXPECT_TRUE(has_all(names_in(folder), files)) << "files of the newer table are gone";
  // Changes on top of the older catalog neither overwrite nor remove the newer table's files.
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto opened = store::open(folder);
    opened->commit(with_table(unchanged(*opened), "other" + std::to_string(i), 20 + i));
  }
  EXPECT_TRUE(has_all(names_in(folder), files)) << "files of the newer table are gone after commits";
  restore("newer.json");
  EXPECT_EQ(text_in(folder), text_of(second));
  EXPECT_TRUE(verify(folder).problems.empty());
}

TEST(StoreLeftovers, FilesOfUnknownOriginStayAndKeepTheirNumber) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  store::open(folder)->commit(first_state());
  for (const char* name : {"rows-000999.arrow", "index-000998.sections", "rows-99999999999999999999999.arrow"}) {
    std::ofstream(folder / name) << "x";
  }
  for (std::uint64_t i = 0; i < 2; ++i) store::open(folder)->commit(with_table(first_state(), "made", i));
  const auto names = names_in(folder);
  EXPECT_TRUE(has_all(names, {"index-000998.sections", "rows-000999.arrow", "rows-99999999999999999999999.arrow"}));
  EXPECT_TRUE(std::ranges::any_of(names, [](const auto& n) { return n > "rows-000999.arrow" && n < "rows-0011"; }));
  EXPECT_EQ(verify(folder).unnamed_files.size(), 2U);
}

TEST(StoreLeftovers, NothingIsRemovedWhereATableIsDamaged) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  store::open(folder)->commit(first_state());
  std::ofstream(folder / "index-000998.sections.part") << "x";
  const auto names = names_in(folder);
  const auto rows = *std::ranges::find_if(names, [](const auto& n) { return n.starts_with("rows-"); });
  std::filesystem::resize_file(folder / rows, std::filesystem::file_size(folder / rows) - 1);
  try {
    (void)store::open(folder);
  } catch (const espalier::error&) {
  }
  EXPECT_EQ(names_in(folder), names);
}

// Sizes are looked at in any case; checksums only where there is something to remove.
TEST(StoreLeftovers, EveryChecksumIsComparedBeforeSomethingIsRemoved) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  store::open(folder)->commit(first_state());
  std::ofstream(folder / "index-000998.sections.part") << "x";
  const auto names = names_in(folder);
  const auto rows = *std::ranges::find_if(names, [](const auto& n) { return n.starts_with("rows-"); });
  std::fstream file(folder / rows, std::ios::in | std::ios::out | std::ios::binary);
  const auto flip = [&] {
    file.seekg(100);
    const int before = file.get();
    file.seekp(100);
    file.put(static_cast<char>(before ^ 1));
    file.flush();
  };
  flip();
  const auto opened = store::open(folder);
  EXPECT_EQ(names_in(folder), names);
  EXPECT_NE(opened->read("orders").problem, "");
  EXPECT_NE(opened->read("empty").rows, nullptr);
  flip();
}

}  // namespace
