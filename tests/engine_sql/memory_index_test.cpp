// Memory of indexes counts towards the limit of statements, and so does memory that helping threads claim.
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

#include "engine/memory_budget.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"
#include "espalier/engine/database.hpp"
#include "espalier/engine/engine_error.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t megabyte = std::int64_t{1} << 20;

std::string state_after(database& db, const std::string& sql) {
  try {
    db.execute(sql);
  } catch (const sql_error& e) {
    return std::string(e.sqlstate());
  }
  return "";
}

database_options limited_to(std::int64_t bytes) {
  database_options options;
  options.device = device::cpu();
  options.memory_limit = bytes;
  return options;
}

const std::string million_rows =
    "CREATE TABLE t AS SELECT (x::bigint * 7919) % 1000003 AS k, x FROM generate_series(1, 1000000) s(x)";

TEST(EngineIndexMemory, AnIndexThatDoesNotFitIsRefused) {
  for (const char* kind : {"static", "blink", "radix", "hybrid"}) {
    database db(limited_to(512 * megabyte));
    db.execute(million_rows);
    const auto create = "CREATE INDEX by_k ON t USING " + std::string(kind) + " (k)";
    db.execute("SET memory_limit = '4MB'");
    EXPECT_EQ(state_after(db, create), "53200") << kind;
    db.execute("SET memory_limit = '500MB'");
    EXPECT_EQ(state_after(db, create), "") << kind;
    // What it takes is part of what is allocated from now on, not of the next statement.
    db.execute("SET memory_limit = '4MB'");
    EXPECT_EQ(state_after(db, "SELECT count(*) FROM t WHERE k = 5"), "") << kind;
  }
}

TEST(EngineIndexMemory, HeldMemoryIsCountedWhileItLives) {
  const memory_budget budget(10 * megabyte);
  EXPECT_NO_THROW(budget.check());
  {
    held_memory first;
    first.set(6 * megabyte);
    EXPECT_NO_THROW(budget.check());
    held_memory second;
    second.set(6 * megabyte);
    EXPECT_THROW(budget.check(), engine_error);
    second.set(1 * megabyte);
    EXPECT_NO_THROW(budget.check());
    held_memory moved(std::move(first));
    second = std::move(moved);
    EXPECT_NO_THROW(budget.check(3 * megabyte));
    EXPECT_THROW(budget.check(5 * megabyte), engine_error);
  }
  EXPECT_NO_THROW(budget.check(9 * megabyte));
}

TEST(EngineIndexMemory, AnIndexThatIsLoadedCounts) {
  const espalier::test::scratch_folder folder;
  auto options = limited_to(512 * megabyte);
  options.path = folder.file("db");
  {
    database db(options);
    db.execute(million_rows);
    db.execute("CREATE INDEX by_k ON t USING blink (k)");
  }
  options.memory_limit = 4 * megabyte;
  database db(options);
  EXPECT_EQ(state_after(db, "SELECT x FROM t WHERE k = 5"), "53200");
  EXPECT_EQ(state_after(db, "SET memory_limit = '500MB'"), "");
  EXPECT_EQ(state_after(db, "SELECT x FROM t WHERE k = 5"), "");
}

// Whichever threads run the pieces, they claim for the statement that began the loop.
TEST(EngineIndexMemory, ClaimsOfHelpingThreadsAreChecked) {
  memory_budget budget(10 * megabyte);
  const memory_scope scope(&budget);
  std::atomic<int> with_budget{0};
  parallel_for(64, [&](std::size_t) { with_budget += memory_budget::current() == &budget ? 1 : 0; });
  EXPECT_EQ(with_budget, 64);
  parallel_pieces(
      1 << 20, [&](std::size_t, std::size_t) { EXPECT_EQ(memory_budget::current(), &budget); }, 1024);
  const auto claim_all = [&](std::size_t bytes) {
    parallel_for(64, [&](std::size_t) { const memory_claim claim(bytes); });
  };
  EXPECT_NO_THROW(claim_all(megabyte / 8));
  try {
    claim_all(11 * megabyte);
    FAIL() << "no claim was refused";
  } catch (const engine_error& e) {
    EXPECT_EQ(e.sqlstate(), "53200");
  }
  EXPECT_NO_THROW(budget.check(9 * megabyte));  // all claims are given back
}

}  // namespace
}  // namespace espalier::engine
