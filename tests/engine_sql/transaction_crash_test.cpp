// transaction_crash_test.cpp - a transaction that ends in a kill or a power failure is there as a whole or not at all.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "engine/sql/parse.hpp"
#include "engine/statements/session.hpp"
#include "engine/store/store.hpp"
#include "engine_store/fault_layer.hpp"
#include "support/recording_layer.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

database_options crash_options(const std::filesystem::path& folder) {
  database_options options;
  options.path = folder;
  options.device = device::cpu();
  return options;
}

void run_statements(session& open, const std::string& script) {
  for (const auto& statement : parse(script)) open.run(statement, {}, {});
}

// Rows of all tables, which statements and indexes agree on.
std::string rows_in(session& open) {
  std::string text;
  for (const std::string sql : {"SELECT * FROM accounts ORDER BY id", "SELECT * FROM log ORDER BY note",
                                "SELECT count(*) FROM accounts WHERE id >= 0"}) {
    text += open.run(parse(sql)[0], {}, {}).rows->ToString();
  }
  for (const auto& entry : open.tables().all()) {
    text += entry->name + " ";
    for (const auto& index : entry->indexes) text += index->validate();
  }
  return text;
}

std::string rows_in_folder(const std::filesystem::path& folder) {
  session open(crash_options(folder));
  EXPECT_TRUE(open.warnings().empty()) << folder << ": " << open.warnings()[0];
  return rows_in(open);
}

const std::string tables_of_crashes =
    "CREATE TABLE accounts (id integer PRIMARY KEY, balance integer); CREATE TABLE log (note varchar);"
    "CREATE INDEX by_balance ON accounts USING static (balance);"
    "INSERT INTO accounts VALUES (1, 100), (2, 50), (3, 0); INSERT INTO log VALUES ('made');";
const std::string changes_of_crashes =
    "BEGIN; UPDATE accounts SET balance = balance - 30 WHERE id = 1;"
    "UPDATE accounts SET balance = balance + 30 WHERE id = 2; DELETE FROM accounts WHERE id = 3;"
    "INSERT INTO log VALUES ('moved'); CREATE TABLE more AS SELECT * FROM log; CREATE INDEX ON more (note);";

TEST(TransactionCrash, LeavesAllOrNothing) {
  const test::scratch_folder scratch;
  const auto folder = scratch.path() / "db";
  {
    session open(crash_options(folder));
    run_statements(open, tables_of_crashes);
  }
  const auto before = rows_in_folder(folder);
  std::string after;
  test::recording_layer layer(folder, scratch.path() / "crashes");
  {
    session open(crash_options(folder), layer);
    run_statements(open, changes_of_crashes + "COMMIT;");
    after = rows_in(open);
    EXPECT_EQ(rows_in_folder(layer.power_failure()), after) << "what COMMIT has acknowledged survives";
  }
  ASSERT_NE(before, after);
  EXPECT_EQ(rows_in_folder(folder), after);
  int old_states = 0, new_states = 0;
  for (const auto& crash : layer.crashes()) {
    const auto found = rows_in_folder(crash);
    EXPECT_TRUE(found == before || found == after) << crash << "\n" << found;
    (found == before ? old_states : new_states) += 1;
    const auto report = verify(crash);
    EXPECT_TRUE(report.problems.empty()) << crash << ": " << report.problems.front();
  }
  EXPECT_GT(old_states, 20);
  EXPECT_GT(new_states, 20) << "removing old files, and saving indexes at the end";
}

TEST(TransactionCrash, ADiskThatFailsAtCommitLeavesTheStateOfBegin) {
  const test::scratch_folder scratch;
  {
    session open(crash_options(scratch.path() / "template"));
    run_statements(open, tables_of_crashes);
  }
  const auto before = rows_in_folder(scratch.path() / "template");
  bool succeeded = false;
  int rolled_back = 0;
  for (int at = 1; !succeeded; ++at) {
    ASSERT_LT(at, 1000);
    const auto folder = scratch.path() / std::to_string(at);
    std::filesystem::copy(scratch.path() / "template", folder);
    {
      test::fault_layer layer(test::fault::throws, at);
      session open(crash_options(folder), layer);
      run_statements(open, changes_of_crashes);
      try {
        run_statements(open, "COMMIT;");
        succeeded = layer.operations() < at;
      } catch (const error& e) {
        EXPECT_EQ(open.transaction(), transaction_status::none);
        if (std::string(e.what()).find("open the database again") != std::string::npos) continue;
        ++rolled_back;
        EXPECT_EQ(rows_in(open), before) << at;
        run_statements(open, "BEGIN; INSERT INTO log VALUES ('well again'); ROLLBACK;");
        EXPECT_EQ(rows_in(open), before) << at;
      }
    }
    EXPECT_TRUE(verify(folder).problems.empty()) << at;
  }
  EXPECT_GT(rolled_back, 10);
}

}  // namespace
}  // namespace espalier::engine
