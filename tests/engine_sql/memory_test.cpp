// Memory that runs out in the middle of a statement: at the first, second, third ... allocation of an index's device.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "engine/catalog.hpp"
#include "espalier/engine/database.hpp"
#include "support/failing_pool.hpp"

namespace espalier::engine {
namespace {

std::string all_rows(database& db) {
  return db.execute("SELECT id, a FROM t ORDER BY id, a").rows->CombineChunks().ValueOrDie()->ToString();
}

// Runs the statement with every allocation failing once; each time tables and indexes have to be as they were.
void fail_everywhere(const std::string& kind, const std::string& statement) {
  const auto plain = device::cpu(1);
  const auto pool = std::make_shared<test::failing_pool>(plain.pool());
  database_options options;
  options.device = plain.with_pool(pool);
  database db(options);
  db.execute("CREATE TABLE t (id integer, a integer)");
  std::string values;
  for (int i = 0; i < 300; ++i)
    values += (i ? ", (" : "(") + std::to_string(i) + ", " + std::to_string(i * 7 % 50) + ")";
  db.execute("INSERT INTO t VALUES " + values);
  db.execute("CREATE INDEX by_a ON t USING " + kind + " (a)");
  db.execute("CREATE INDEX by_id ON t USING " + kind + " (id)");
  const auto before = all_rows(db);
  bool done = false;
  for (std::size_t k = 1; !done && k < 2000; ++k) {
    pool->fail_at(k);
    try {
      db.execute(statement);
      done = true;
    } catch (const error&) {
    }
    pool->fail_at(0);
    if (!done) {
      ASSERT_EQ(all_rows(db), before) << kind << ", allocation " << k << " of " << statement;
    }
    for (const auto& index : db.tables().find("t")->indexes) {
      ASSERT_EQ(index->validate(), "") << kind << ", allocation " << k << " of " << statement;
    }
  }
  EXPECT_TRUE(done);
  EXPECT_NE(all_rows(db), before);
}

TEST(EngineMemory, RunsOutInTheMiddleOfAChange) {
  for (const char* kind : {"static", "blink", "radix", "hybrid"}) {
    fail_everywhere(kind, "INSERT INTO t SELECT id + 1000, a + 1 FROM t");
    fail_everywhere(kind, "UPDATE t SET a = a + 1 WHERE id < 200");
    fail_everywhere(kind, "DELETE FROM t WHERE a BETWEEN 10 AND 20");
  }
}

TEST(EngineMemory, RunsOutWhileAnIndexIsBuilt) {
  const auto plain = device::cpu(1);
  const auto pool = std::make_shared<test::failing_pool>(plain.pool());
  database_options options;
  options.device = plain.with_pool(pool);
  database db(options);
  db.run_script("CREATE TABLE t (id integer, a integer); INSERT INTO t VALUES (1, 2), (3, 4);");
  bool done = false;
  for (std::size_t k = 1; !done && k < 2000; ++k) {
    pool->fail_at(k);
    try {
      db.execute("CREATE INDEX i ON t (a)");
      done = true;
    } catch (const error&) {
      EXPECT_TRUE(db.tables().find("t")->indexes.empty());
    }
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace espalier::engine
