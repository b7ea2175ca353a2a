// transaction_group_test.cpp - group commit: statements of a script share disk syncs, and a crash leaves a prefix of them.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/sql/parse.hpp"
#include "engine/statements/session.hpp"
#include "engine/store/store.hpp"
#include "engine_store/fault_layer.hpp"
#include "support/recording_layer.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

constexpr auto no_time_limit = std::chrono::hours(24);

database_options grouped_options(const std::filesystem::path& folder) {
  database_options options;
  options.path = folder;
  options.device = device::cpu();
  return options;
}

void run_all(session& open, const std::vector<std::string>& statements) {
  for (const auto& sql : statements) open.run(parse(sql)[0], {}, {});
}

// Rows by a scan and what the index says about them.
std::string rows_of_t(session& open) {
  std::string text = open.run(parse("SELECT * FROM t ORDER BY a")[0], {}, {}).rows->ToString();
  for (const auto& index : open.tables().find("t")->indexes) text += index->validate();
  return text + open.run(parse("SELECT count(*) FROM t WHERE a >= 0")[0], {}, {}).rows->ToString();
}

std::string rows_in_folder_of_t(const std::filesystem::path& folder) {
  session open(grouped_options(folder));
  EXPECT_TRUE(open.warnings().empty()) << folder << ": " << open.warnings()[0];
  return rows_of_t(open);
}

int count_of(const test::fault_layer& layer, file_operation operation) {
  return static_cast<int>(std::ranges::count(layer.events(), operation, &test::fault_layer::event::operation));
}

std::vector<std::string> inserts(int count) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) out.push_back("INSERT INTO t VALUES (" + std::to_string(i) + ")");
  return out;
}

const std::vector<std::string> tables_of_groups = {"CREATE TABLE t (a integer PRIMARY KEY)"};

// The last statement is run and written before `end`.
struct open_group {
  explicit open_group(session& s, std::size_t statements = 1000) : open(s) {
    open.set_group_limits({statements, no_time_limit});
    open.start_grouping();
  }
  void end() {
    open.write_group();
    open.end_grouping();
  }
  session& open;
};

TEST(CommitGroup, AThousandStatementsAreSyncedLikeOne) {
  const test::scratch_folder scratch;
  const auto syncs = [&](const std::string& name, int statements, bool in_groups) {
    test::fault_layer layer;
    session open(grouped_options(scratch.path() / name), layer);
    run_all(open, tables_of_groups);
    const int files = count_of(layer, file_operation::sync), folders = count_of(layer, file_operation::sync_folder);
    open_group group(open, static_cast<std::size_t>(statements));
    if (!in_groups) open.end_grouping();
    run_all(open, inserts(statements));
    EXPECT_EQ(open.unwritten_statements(), 0U);
    if (in_groups) group.end();
    return std::pair(count_of(layer, file_operation::sync) - files,
                     count_of(layer, file_operation::sync_folder) - folders);
  };
  const auto one = syncs("one", 1, false);
  EXPECT_EQ(one, std::pair(2, 2)) << "rows and catalog";
  const auto group = syncs("group", 1000, true);
  EXPECT_LE(group.first, 12) << "segments of the table, which are few, and the catalog";
  EXPECT_EQ(group.second, one.second);
  EXPECT_EQ(syncs("alone", 20, false).second, 20 * one.second);
  EXPECT_NE(rows_in_folder_of_t(scratch.path() / "group").find("999"), std::string::npos);
}

TEST(CommitGroup, StatementsThatReadAndTransactionsRunAfterWhatWasWritten) {
  const test::scratch_folder scratch;
  session open(grouped_options(scratch.path() / "db"));
  run_all(open, tables_of_groups);
  open_group group(open);
  auto expect_written_by = [&, next = 0](const std::string& sql) mutable {
    run_all(open, {"INSERT INTO t VALUES (" + std::to_string(next++) + ")",
                   "INSERT INTO t VALUES (" + std::to_string(next++) + ")"});
    EXPECT_EQ(open.unwritten_statements(), 2U) << sql;
    EXPECT_EQ(open.transaction(), transaction_status::none) << sql;
    run_all(open, {sql});
    EXPECT_EQ(open.unwritten_statements(), 0U) << sql;
    session reader([&] {
      auto options = grouped_options(scratch.path() / "db");
      options.read_only = true;
      return options;
    }());
    EXPECT_EQ(reader.tables().find("t")->version->live_rows(), static_cast<std::uint64_t>(next)) << sql;
  };
  for (const std::string sql :
       {"SELECT count(*) FROM t", "EXPLAIN SELECT * FROM t", "ANALYZE t", "CREATE INDEX by_a ON t (a)", "BEGIN",
        "SET memory_limit = '1GB'"}) {
    expect_written_by(sql);
    if (sql == "BEGIN") {
      run_all(open, {"INSERT INTO t VALUES (-1)"});
      EXPECT_EQ(open.unwritten_statements(), 0U) << "it is the transaction's";
      EXPECT_EQ(open.transaction(), transaction_status::active);
      run_all(open, {"ROLLBACK"});
    }
  }
  expect_written_by("COPY t TO '" + scratch.file("t.csv") + "'");
  run_all(open, {"INSERT INTO t VALUES (100)"});
  open.save_indexes();
  EXPECT_EQ(open.unwritten_statements(), 0U);
  group.end();
}

TEST(CommitGroup, AStatementThatFailsIsUndoneAlone) {
  const test::scratch_folder scratch;
  {
    session open(grouped_options(scratch.path() / "db"));
    run_all(open, tables_of_groups);
    open_group group(open);
    run_all(open, {"INSERT INTO t VALUES (1), (2)", "DELETE FROM t WHERE a = 2"});
    EXPECT_ANY_THROW(run_all(open, {"INSERT INTO t VALUES (3), (1)"}));
    EXPECT_ANY_THROW(run_all(open, {"INSERT INTO t SELECT 10 / (a - 1) FROM t"}));
    EXPECT_ANY_THROW(run_all(open, {"DROP TABLE u"}));
    EXPECT_EQ(open.unwritten_statements(), 2U);
    run_all(open, {"INSERT INTO t VALUES (3)"});
    group.end();
    EXPECT_EQ(open.undone_statements(), 0U);
  }
  session open(grouped_options(scratch.path() / "db"));
  EXPECT_EQ((*open.run(parse("SELECT sum(a) FROM t")[0], {}, {}).rows->column(0)->GetScalar(0))->ToString(), "4");
}

const std::vector<std::string> changes_of_groups = {
    "INSERT INTO t VALUES (1), (2), (3)",     "UPDATE t SET a = a + 10 WHERE a > 1",
    "DELETE FROM t WHERE a = 12",             "CREATE TABLE u AS SELECT a AS b FROM t",
    "INSERT INTO t SELECT b + 100 FROM u",    "DROP TABLE u",
    "INSERT INTO t VALUES (4), (5)",          "UPDATE t SET a = 6 WHERE a = 4",
};

// States after each prefix of the statements, by a database in which each statement is written by itself.
std::vector<std::string> states_of_prefixes(const std::filesystem::path& folder) {
  session open(grouped_options(folder));
  run_all(open, tables_of_groups);
  std::vector<std::string> out = {rows_of_t(open)};
  for (const auto& sql : changes_of_groups) {
    run_all(open, {sql});
    out.push_back(rows_of_t(open));
  }
  return out;
}

TEST(CommitGroup, ACrashLeavesAPrefixWithAllThatWasWritten) {
  const test::scratch_folder scratch;
  const auto prefixes = states_of_prefixes(scratch.path() / "prefixes");
  const auto folder = scratch.path() / "db";
  {
    session open(grouped_options(folder));
    run_all(open, tables_of_groups);
  }
  test::recording_layer layer(folder, scratch.path() / "crashes");
  std::vector<std::size_t> written_at_crash;  // statements that were durable when each crash happened
  {
    session open(grouped_options(folder), layer);
    open_group group(open, 3);
    for (std::size_t done = 0; done < changes_of_groups.size(); ++done) {
      const std::size_t durable = done - open.unwritten_statements();
      run_all(open, {changes_of_groups[done]});
      written_at_crash.resize(layer.crashes().size(), durable);
      if (open.unwritten_statements() == 0) {
        EXPECT_EQ(rows_in_folder_of_t(layer.power_failure()), prefixes[done + 1]) << "what was acknowledged survives";
      }
    }
    group.end();
    written_at_crash.resize(layer.crashes().size(), changes_of_groups.size() - 2);
  }
  written_at_crash.resize(layer.crashes().size(), changes_of_groups.size());
  std::set<std::size_t> found_prefixes;
  for (std::size_t i = 0; i < layer.crashes().size(); ++i) {
    const auto& crash = layer.crashes()[i];
    const auto found = std::ranges::find(prefixes, rows_in_folder_of_t(crash));
    ASSERT_NE(found, prefixes.end()) << crash << " has the rows of no prefix";
    const auto prefix = static_cast<std::size_t>(found - prefixes.begin());
    // Two prefixes may have the same rows: those around CREATE TABLE and DROP TABLE of another table.
    const auto last = static_cast<std::size_t>(
        std::find_if(found, prefixes.end(), [&](const auto& rows) { return rows != *found; }) - prefixes.begin()) - 1;
    EXPECT_GE(last, written_at_crash[i]) << crash;
    found_prefixes.insert(prefix);
    EXPECT_TRUE(verify(crash).problems.empty()) << crash;
  }
  EXPECT_GE(found_prefixes.size(), 4U) << "three groups of three, three and two statements";
}

TEST(CommitGroup, ADiskThatFailsUndoesTheGroupAndNothingElse) {
  const test::scratch_folder scratch;
  const auto prefixes = states_of_prefixes(scratch.path() / "prefixes");
  {
    session open(grouped_options(scratch.path() / "template"));
    run_all(open, tables_of_groups);
  }
  int undone = 0;
  bool succeeded = false;
  for (int at = 1; !succeeded; ++at) {
    ASSERT_LT(at, 1000);
    const auto folder = scratch.path() / std::to_string(at);
    std::filesystem::copy(scratch.path() / "template", folder);
    test::fault_layer layer(test::fault::throws, at);
    session open(grouped_options(folder), layer);
    open_group group(open, 3);
    std::size_t done = 0;
    try {
      for (; done < changes_of_groups.size(); ++done) run_all(open, {changes_of_groups[done]});
      group.end();
      succeeded = layer.operations() < at;
    } catch (const error& e) {
      const std::string what = e.what();
      if (what.find("open the database again") != std::string::npos) continue;
      const std::size_t written = done / 3 * 3;
      EXPECT_EQ(open.undone_statements(), std::min(done + 1, changes_of_groups.size()) - written) << at << what;
      EXPECT_EQ(open.unwritten_statements(), 0U);
      ++undone;
      EXPECT_EQ(rows_of_t(open), prefixes[written]) << at << what;
      run_all(open, {"INSERT INTO t VALUES (77)", "DELETE FROM t WHERE a = 77"});
      open.write_group();
      EXPECT_EQ(rows_in_folder_of_t([&] {
                  const auto copy = folder.string() + "-copy";
                  std::filesystem::copy(folder, copy);
                  return copy;
                }()),
                prefixes[written])
          << at;
    }
  }
  EXPECT_GT(undone, 10);
}

TEST(CommitGroup, ScriptsOfADatabaseAreWrittenInGroups) {
  const test::scratch_folder scratch;
  const auto folder = scratch.path() / "db";
  std::string script = "CREATE TABLE t (a integer PRIMARY KEY);";
  for (const auto& sql : inserts(500)) script += sql + ";";
  {
    database db(grouped_options(folder));
    EXPECT_EQ(db.run_script(script).size(), 501U);
    commit_group together(db);
    db.execute("INSERT INTO t VALUES (1000)");
    EXPECT_EQ(db.transaction(), transaction_status::none);
    EXPECT_GE(together.write(), 0);
    EXPECT_EQ(together.unwritten(), 0U);
    EXPECT_EQ(together.undone(), 0U);
    try {
      (void)db.run_script("INSERT INTO t VALUES (1001); INSERT INTO t VALUES (1002); INSERT INTO t VALUES (1001); "
                          "INSERT INTO t VALUES (1003)");
      ADD_FAILURE();
    } catch (const sql_error& e) {
      EXPECT_EQ(e.sqlstate(), "23505");
    }
    auto options = grouped_options(folder);
    options.read_only = true;
    const database reader(options);
    EXPECT_EQ(reader.tables().find("t")->version->live_rows(), 503U) << "statements before the error are written";
    db.execute("INSERT INTO t VALUES (1004)");
  }
  session open(grouped_options(folder));
  EXPECT_EQ(open.tables().find("t")->version->live_rows(), 504U);
}

}  // namespace
}  // namespace espalier::engine
