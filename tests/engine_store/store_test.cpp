// store_test.cpp - what is committed is what is found again, and only what changed is written.
#include "engine/store/store.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include "engine/store/catalog_file.hpp"
#include "engine_store/fault_layer.hpp"
#include "engine_store/sample_states.hpp"
#include "espalier/core/error.hpp"
#include "support/engine_rows.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;
using namespace espalier::test;

std::string refusal_of(const std::filesystem::path& folder) {
  try {
    (void)store::open(folder);
  } catch (const espalier::error& e) {
    return e.what();
  }
  return "";
}

TEST(Store, FindsWhatWasCommitted) {
  const scratch_folder scratch;
  const auto folder = scratch.path() / "new" / "db";
  const auto first = first_state();
  store::open(folder)->commit(first);
  EXPECT_EQ(text_in(folder), text_of(first));
  const auto second = second_state(first);
  store::open(folder)->commit(second);
  EXPECT_EQ(text_in(folder), text_of(second));
}

TEST(Store, ANewFolderIsAnEmptyDatabase) {
  const scratch_folder scratch;
  const auto folder = scratch.path() / "db";
  EXPECT_EQ(text_in(folder), "");
  EXPECT_EQ(text_in(folder), "");
  EXPECT_TRUE(verify(folder).problems.empty());
}

TEST(Store, KeepsFilesOfWhatDidNotChange) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  auto tables = first_state();
  const auto opened = store::open(folder);
  opened->commit(tables);
  const auto before = names_in(folder);
  opened->commit(tables);
  EXPECT_EQ(names_in(folder), before);
  tables[0].indexes[0].content = 77;
  opened->commit(tables);
  const auto after = names_in(folder);
  std::vector<std::string> gone;
  std::ranges::set_difference(before, after, std::back_inserter(gone));
  ASSERT_EQ(gone.size(), 1U);
  EXPECT_TRUE(gone[0].starts_with("index-")) << gone[0];
}

TEST(Store, KeepsFilesAcrossOpening) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  store::open(folder)->commit(first_state());
  const auto before = names_in(folder);
  const auto opened = store::open(folder);
  std::vector<saved_table> same;
  for (const auto& table : opened->tables()) {
    same.push_back({table.name, table.about, table.rows, {}});
    for (const auto& index : table.indexes) {
      const auto content = opened->content_of(table.name, index.name);
      same.back().indexes.push_back({index.name, index.spec, content, {}});
      if (index.sections) same.back().indexes.back().save = [](section_writer&) { FAIL() << "written again"; };
    }
  }
  opened->forget_tables();
  opened->commit(same);
  EXPECT_EQ(names_in(folder), before);
}

// The file of by_a stays while rows come and go, and the catalog says what it covers.
TEST(Store, AnIndexFileMayBeBehindItsTable) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  auto tables = first_state();
  const auto covers = tables[0].rows->counts();
  const auto opened = store::open(folder);
  opened->commit(tables);
  const auto index_file = [&] {
    std::string found;
    for (const auto& name : names_in(folder)) found += name.starts_with("index-") ? name : "";
    return found;
  };
  const auto before = index_file();
  EXPECT_NE(catalog_header(folder).find("\"version\":1"), std::string::npos);
  const std::vector<std::uint64_t> gone = {0, 1};
  tables[0].rows = tables[0].rows->appended(random_rows(3, 9))->erased(gone);
  tables[0].indexes[0].covers = covers;
  tables[0].indexes[0].save = [](section_writer&) { FAIL() << "written again"; };
  opened->commit(tables);
  EXPECT_EQ(index_file(), before);
  EXPECT_NE(catalog_header(folder).find("\"version\":2"), std::string::npos);
  EXPECT_EQ(store::open_read_only(folder)->tables()[0].indexes[0].covers, covers);
  EXPECT_EQ(text_of(store::open_read_only(folder)->tables()), text_of(tables));
  EXPECT_TRUE(verify(folder).problems.empty());
  // A table that is not read stays as it is.
  opened->commit({{"orders", "", nullptr, {}}});
  EXPECT_EQ(store::open_read_only(folder)->tables()[0].indexes[0].covers, covers);
  EXPECT_EQ(index_file(), before);
  // Another content is another file, of the rows that are there now.
  tables[0].indexes[0] = sample_index("by_a", 3);
  opened->commit(tables);
  EXPECT_NE(index_file(), before);
  EXPECT_EQ(store::open_read_only(folder)->tables()[0].indexes[0].covers, std::nullopt);
  EXPECT_NE(catalog_header(folder).find("\"version\":1"), std::string::npos);
}

// Without `save` an unknown number is a definition and nothing else.
TEST(Store, AnIndexWithoutItsFileIsOnlyDefined) {
  const scratch_folder scratch;
  auto tables = first_state();
  store::open(scratch.path())->commit(tables);
  tables[0].indexes[0].content = 99;
  tables[0].indexes[0].save = nullptr;
  tables[0].indexes[0].covers = row_counts{1, 1};
  store::open(scratch.path())->commit(tables);
  const auto found = store::open(scratch.path())->read("orders").indexes[0];
  EXPECT_FALSE(found.sections);
  EXPECT_EQ(found.covers, std::nullopt);
}

TEST(Store, TablesMayShareRows) {
  const scratch_folder scratch;
  const auto rows = table_version::from(random_rows(20, 4));
  const std::vector<saved_table> both = {{"a", "", rows, {}}, {"b", "", rows, {}}};
  store::open(scratch.path())->commit(both);
  EXPECT_EQ(text_in(scratch.path()), text_of(both));
  const std::vector<saved_table> one = {both[1]};
  store::open(scratch.path())->commit(one);
  EXPECT_EQ(text_in(scratch.path()), text_of(one));
}

TEST(Store, RemovesTemporaryFilesOfItsOwnAndNothingElse) {
  const scratch_folder scratch;
  const auto folder = scratch.path();
  store::open(folder)->commit(first_state());
  for (const char* name :
       {"rows-000999.arrow", "index-000998.sections.part", "catalog.json.part", "notes.txt", "mine.part"}) {
    std::ofstream(folder / name) << "x";
  }
  (void)text_in(folder);
  const auto names = names_in(folder);
  for (const char* kept : {"notes.txt", "mine.part", "rows-000999.arrow"}) {
    EXPECT_TRUE(std::ranges::count(names, kept) == 1) << kept;
  }
  EXPECT_TRUE(std::ranges::none_of(names, [](const auto& n) { return n.ends_with(".part") && n != "mine.part"; }));
}

TEST(Store, RefusesFoldersOfOthers) {
  const scratch_folder scratch;
  std::ofstream(scratch.path() / "photo.jpg") << "x";
  EXPECT_NE(refusal_of(scratch.path()).find("neither a database nor an empty folder"), std::string::npos);
  EXPECT_NE(refusal_of(scratch.path() / "photo.jpg").find("not a folder"), std::string::npos);
}

TEST(Store, RefusesADatabaseWithoutItsCatalog) {
  const scratch_folder scratch;
  store::open(scratch.path())->commit(first_state());
  const auto before = names_in(scratch.path());
  std::filesystem::remove(scratch.path() / "catalog.json");
  EXPECT_NE(refusal_of(scratch.path()).find("catalog.json' of database"), std::string::npos);
  EXPECT_EQ(names_in(scratch.path()).size() + 1, before.size()) << "nothing but the catalog is gone";
}

TEST(Store, ASecondProcessIsRefused) {
  const scratch_folder scratch;
  const auto opened = store::open(scratch.path());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(refusal_of(scratch.path()).find("open in another process") != std::string::npos ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// The folder itself is locked: no file has to be there for it, and removing one does not let a second writer in.
TEST(Store, TheLockDoesNotDependOnAFile) {
  const scratch_folder scratch;
  const auto opened = store::open(scratch.path());
  EXPECT_FALSE(std::filesystem::exists(scratch.path() / "lock"));
  std::filesystem::remove(scratch.path() / "lock");
  EXPECT_NE(refusal_of(scratch.path()).find("open in another process"), std::string::npos);
}

TEST(Store, ACommitOverTheCatalogOfAnotherIsRefused) {
  const scratch_folder scratch;
  const auto folder = scratch.path() / "db";
  const auto opened = store::open(folder);
  opened->commit(first_state());
  // As if another process had written, whatever its lock: a copy of the folder goes on, and its files come back.
  std::filesystem::copy(folder, scratch.path() / "copy");
  store::open(scratch.path() / "copy")->commit(second_state(first_state()));
  for (const auto& entry : std::filesystem::directory_iterator(scratch.path() / "copy")) {
    std::filesystem::copy(entry.path(), folder / entry.path().filename(),
                          std::filesystem::copy_options::overwrite_existing);
  }
  const auto theirs = names_in(folder);
  try {
    opened->commit(first_state());
    FAIL() << "the other program's commit is lost";
  } catch (const engine_error& e) {
    EXPECT_EQ(e.kind(), error_kind::in_use);
  }
  EXPECT_TRUE(opened->poisoned());
  EXPECT_EQ(verify(folder).problems, std::vector<std::string>());
  EXPECT_EQ(names_in(folder), theirs);
}

TEST(StoreReadOnly, ChangesNothingAndNeedsNoLock) {
  const scratch_folder scratch;
  const auto folder = scratch.path() / "db";
  const auto first = first_state();
  const auto writer = store::open(folder);
  writer->commit(first);
  std::ofstream(folder / "rows-000999.arrow.part") << "x";
  const auto before = names_in(folder);
  const auto reader = store::open_read_only(folder);
  const auto second_reader = store::open_read_only(folder);
  EXPECT_EQ(text_of(reader->tables()), text_of(first));
  EXPECT_EQ(names_in(folder), before);
  EXPECT_THROW(reader->commit(first), engine_error);
  writer->commit(second_state(first));
  EXPECT_EQ(text_of(reader->tables()), text_of(first)) << "a reader keeps the state that it has opened";
  EXPECT_EQ(text_of(store::open_read_only(folder)->tables()), text_of(second_state(first)));
  EXPECT_TRUE(verify(folder).problems.empty()) << "verify takes no lock";
}

TEST(StoreReadOnly, MakesNoDatabase) {
  const scratch_folder scratch;
  EXPECT_THROW((void)store::open_read_only(scratch.path() / "none"), espalier::error);
  EXPECT_THROW((void)store::open_read_only(scratch.path()), espalier::error);
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

// A writer removes files of the old state while a reader is between the catalog and the files.
TEST(StoreReadOnly, SeesWholeStatesWhileAnotherWrites) {
  const scratch_folder scratch;
  const auto folder = scratch.path() / "db";
  const auto first = first_state();
  const auto second = second_state(first);
  const std::string first_text = text_of(first);
  const std::string second_text = text_of(second);
  const auto written = store::open(folder);
  written->commit(first);
  std::atomic<bool> ended = false;
  std::thread writer([&] {
    for (int i = 0; i < 60; ++i) written->commit(i % 2 == 0 ? second : first);
    ended = true;
  });
  while (!ended) {
    const auto found = text_of(store::open_read_only(folder)->tables());
    EXPECT_TRUE(found == first_text || found == second_text);
  }
  writer.join();
}

TEST(Store, EveryFileIsSyncedBeforeTheCatalogNamesIt) {
  const scratch_folder scratch;
  const auto first = first_state();
  fault_layer layer;
  const auto opened = store::open(scratch.path(), layer);
  opened->commit(first);
  opened->commit(second_state(first));
  std::set<std::string> unsynced;
  bool folder_synced = true;
  int catalogs = 0;
  for (const auto& [operation, name] : layer.events()) {
    if (operation == file_operation::write) unsynced.insert(name);
    if (operation == file_operation::sync) unsynced.erase(name);
    if (operation == file_operation::sync_folder) folder_synced = true;
    if (operation == file_operation::rename && name == "catalog.json") {
      ++catalogs;
      EXPECT_TRUE(unsynced.empty() && folder_synced);
    }
    if (operation == file_operation::rename) {
      EXPECT_FALSE(unsynced.contains(name));
      folder_synced = false;
    }
    if (operation == file_operation::remove && !name.starts_with("writing-")) {
      EXPECT_TRUE(folder_synced) << "the old state is gone before the new one is safe";
    }
  }
  EXPECT_EQ(catalogs, 3);
}

TEST(StoreVerify, NamesEveryDamagedFile) {
  const scratch_folder scratch;
  store::open(scratch.path())->commit(first_state());
  EXPECT_TRUE(verify(scratch.path()).problems.empty());
  EXPECT_EQ(verify(scratch.path()).tables, 2U);
  EXPECT_EQ(verify(scratch.path()).rows, 104U);
  std::vector<std::string> damaged;
  for (const auto& name : names_in(scratch.path())) {
    if (name == "catalog.json") continue;
    std::filesystem::resize_file(scratch.path() / name, std::filesystem::file_size(scratch.path() / name) - 1);
    damaged.push_back(name);
  }
  const auto report = verify(scratch.path());
  ASSERT_EQ(report.problems.size(), damaged.size());
  for (const auto& name : damaged) {
    EXPECT_TRUE(std::ranges::any_of(report.problems, [&](const auto& p) { return p.find(name) != p.npos; })) << name;
  }
}

TEST(StoreVerify, AsksWhatAnIndexMeans) {
  const scratch_folder scratch;
  store::open(scratch.path())->commit(first_state());
  const auto report = verify(scratch.path(), [](const loaded_table& table, const loaded_index& index) {
    EXPECT_EQ(table.rows->live_rows(), 104U);
    return index.sections ? std::string("its rows are in the wrong order.") : std::string();
  });
  ASSERT_EQ(report.problems.size(), 1U);
  EXPECT_EQ(report.problems[0], "Index 'by_a' of table 'orders': its rows are in the wrong order.");
}

}  // namespace
