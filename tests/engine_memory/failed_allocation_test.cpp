// failed_allocation_test.cpp - whichever call of operator new fails while statements run, on whichever thread, the
// statement fails with SQLSTATE 53200, nothing has changed, and the database is in order. A child process runs each
// attempt, since what this looks for is std::terminate.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "espalier/engine/database.hpp"
#include "host_memory/failing_new.hpp"
#include "support/less_work.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

using test::fail_new_at;
using test::news_since;

// Exit codes of a child.
constexpr int has_finished = 0, has_error = 1, has_other_error = 2, has_damage = 3;

// Every statement has either all of its effects or none, so `t` has as many rows with an even id as with an odd one.
std::vector<std::string> statements(const std::filesystem::path& folder) {
  const std::string file = (folder / "copy.csv").string();
  return {
      "CREATE TABLE t AS SELECT i AS id, i % 97 AS k, (i * 7919 % 1000) / 8.0::float8 AS x, 'text ' || i % 50 AS s, "
      "TIMESTAMP '2026-01-01' + i * INTERVAL '1 second' AS ts FROM generate_series(0, 19999) g(i)",
      "CREATE UNIQUE INDEX t_id ON t USING blink (id)",
      "CREATE INDEX t_k ON t USING static (k)",
      "CREATE INDEX t_s ON t USING radix (s)",
      "CREATE INDEX t_ts ON t USING hybrid (ts)",
      "INSERT INTO t SELECT id + 20000, k, x, s, ts FROM t WHERE id < 2000",
      "UPDATE t SET x = x + 1, k = k + 1 WHERE id BETWEEN 100 AND 299",
      "DELETE FROM t WHERE id BETWEEN 300 AND 399",
      "SELECT k, count(*), sum(x), max(s) FROM t GROUP BY k HAVING count(*) > 2 ORDER BY k",
      "SELECT s, count(DISTINCT k), string_agg(s, ',') FROM t WHERE id < 300 GROUP BY s",
      "SELECT count(*), sum(a.x) FROM t a JOIN t b ON a.id = b.id + 7 WHERE a.s LIKE 'text 1%'",
      "SELECT count(*) FROM t a LEFT JOIN t b ON a.s = b.s AND a.id = b.id AND a.x < b.x",
      "SELECT count(*), sum(q.x) FROM t a LEFT JOIN LATERAL (SELECT b.x + 1 AS x FROM t b WHERE b.k = a.k AND b.ts < "
      "a.ts "
      "ORDER BY b.ts DESC LIMIT 1) q ON true WHERE a.id < 3000",
      "SELECT sum(n) FROM (SELECT (SELECT count(*) FROM t b WHERE b.ts BETWEEN a.ts - INTERVAL '9 seconds' AND a.ts) "
      "AS n "
      "FROM t a WHERE a.id < 2000) w",
      "SELECT max(r) FROM (SELECT sum(x) OVER (PARTITION BY k ORDER BY id ROWS 5 PRECEDING) AS r FROM t) w",
      "SELECT * FROM t ORDER BY s, x DESC, id LIMIT 10",
      "SELECT id FROM t WHERE k IN (SELECT k FROM t WHERE id < 50) AND id NOT IN (3, 4, 5) UNION SELECT k FROM t",
      "COPY (SELECT * FROM t WHERE id < 5000) TO '" + file + "'",
      "SELECT count(*) FROM read_csv('" + file + "')",
      "BEGIN",
      "INSERT INTO t SELECT id + 30000, k, x, s, ts FROM t WHERE id < 1000 AND id >= 500",
      "DELETE FROM t WHERE id >= 30100 AND id < 30200",
      "ROLLBACK",
      "BEGIN",
      "UPDATE t SET s = s || '!' WHERE id < 1000",
      "DELETE FROM t WHERE id >= 20000 AND id < 20100",
      "COMMIT",
      "EXPLAIN ANALYZE SELECT count(*) FROM t WHERE id BETWEEN 5 AND 5000",
      "CREATE TABLE u (a integer PRIMARY KEY, b varchar(10))",
      "INSERT INTO u VALUES (1, 'a'), (2, 'b')",
      "DROP TABLE u",
  };
}

database opened(const std::filesystem::path& folder) {
  database_options options;
  options.path = folder / "db";
  options.device = device::cpu(2);
  return database(options);
}

std::int64_t number(database& db, const std::string& sql) {
  const auto value = db.execute(sql).rows->column(0)->GetScalar(0).ValueOrDie();
  return static_cast<const arrow::Int64Scalar&>(*value).value;
}

bool is_in_order(database& db) {
  std::int64_t rows = 0;
  try {
    rows = number(db, "SELECT count(*) FROM t");
  } catch (const sql_error& e) {
    return e.sqlstate() == "42P01";  // the first statement failed
  }
  const auto even = number(db, "SELECT count(*) FROM t WHERE id % 2 = 0");
  const auto by_index = number(db, "SELECT count(*) FROM t WHERE id >= 0 AND id < 1000000");
  const auto by_key = number(db, "SELECT count(*) FROM t WHERE k >= 0");
  return rows == 2 * even && rows == by_index && rows == by_key;
}

// A digest of what the statements change.
std::string content_of(database& db) {
  std::string out;
  for (const char* const sql :
       {"SELECT count(*), sum(id), sum(k), sum(x), max(s) FROM t", "SELECT count(*), sum(a) FROM u"}) {
    try {
      const auto rows = db.execute(sql).rows;
      for (const auto& column : rows->columns()) out += column->GetScalar(0).ValueOrDie()->ToString() + " ";
    } catch (const sql_error& e) {
      out += std::string(e.sqlstate()) + " ";
    }
  }
  return out;
}

std::string content_of_folder(const std::filesystem::path& folder) {
  database_options options;
  options.path = folder / "db";
  options.device = device::cpu(2);
  options.read_only = true;
  database db(options);
  return content_of(db);
}

// Runs the statements until one fails, since the k-th allocation does. Returns the exit code of the child.
int attempt(const std::filesystem::path& folder, std::size_t k, const std::vector<std::string>& contents) {
  const auto fail = [&](int code, const std::string& what, const std::string& sql) {
    fail_new_at(0);
    std::fprintf(stderr, "allocation %zu: %s: %s\n", k, sql.c_str(), what.c_str());
    return code;
  };
  const auto all = statements(folder);
  std::size_t at = 0;
  try {
    std::optional<database> db(opened(folder));
    bool is_refused = false;
    fail_new_at(k, "libarrow");  // Arrow ends the process where it allocates in functions that are noexcept
    try {
      for (; at < all.size(); ++at) (void)db->execute(all[at]);
    } catch (const sql_error& e) {
      if (e.sqlstate() != "53200" || news_since() < k) return fail(has_other_error, e.what(), all[at]);
      is_refused = true;
    }
    fail_new_at(0);
    if (db->transaction() != transaction_status::none) {  // the statement may have been COMMIT or ROLLBACK
      db->execute("ROLLBACK");
    }
    // The text is the one before the statement, or before its transaction.
    const auto now = content_of(*db);
    if (now != contents[at])
      return fail(has_damage, now + "instead of " + contents[at], is_refused ? all[at] : "the end");
    if (content_of_folder(folder) != now) return fail(has_damage, "another state is in the folder", all[at]);
    if (!is_in_order(*db)) return fail(has_damage, "an index has other rows", is_refused ? all[at] : "the end");
    db.reset();
    if (content_of_folder(folder) != now) return fail(has_damage, "another state is in the folder at the end", all[at]);
    return is_refused ? has_error : has_finished;
  } catch (const std::exception& e) {
    return fail(has_other_error, e.what(), at < all.size() ? all[at] : "the end");
  }
}

template <class Work>
int exit_code_of(const Work& work) {
  const auto child = fork();
  if (child == 0) _exit(work());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// The number of allocations, and the content before each statement, or before its transaction, and at the end.
struct expected_run {
  std::size_t allocations = 0;
  std::vector<std::string> contents;
};

expected_run run_without_failure() {
  const test::scratch_folder folder;
  const auto written = folder.path() / "expected";
  const int code = exit_code_of([&] {
    auto db = opened(folder.path());
    const auto all = statements(folder.path());
    std::size_t count = 0;
    std::string content;
    std::ofstream out(written);
    for (const auto& sql : all) {
      if (db.transaction() == transaction_status::none) content = content_of(db);
      out << content << '\n';
      fail_new_at(~std::size_t{0});
      (void)db.execute(sql);
      count += news_since();
    }
    out << content_of(db) << '\n' << count << '\n';
    return out.flush() ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  expected_run out;
  std::ifstream in(written);
  for (std::string line; std::getline(in, line);) out.contents.push_back(line);
  if (out.contents.empty()) return out;
  out.allocations = std::stoull(out.contents.back());
  out.contents.pop_back();
  return out;
}

TEST(EngineMemory, AnyFailedAllocationIsAnError) {
  const auto expected = run_without_failure();
  ASSERT_GT(expected.allocations, 10'000U);
  const unsigned seed = std::random_device{}();
  std::printf("%zu allocations, seed %u\n", expected.allocations, seed);
  std::mt19937_64 random(seed);
  const std::size_t attempts = 200 / test::less_work, step = expected.allocations / attempts;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < attempts; ++i) {
    const std::size_t k = 1 + i * step + random() % step;
    const test::scratch_folder folder;
    const int code = exit_code_of([&] { return attempt(folder.path(), k, expected.contents); });
    EXPECT_TRUE(code == has_finished || code == has_error) << "allocation " << k << ": " << code;
    refused += code == has_error ? 1 : 0;
  }
  EXPECT_GT(refused, attempts / 4);  // the others are in a destructor, or behind the end
}

// Each allocation of one statement fails once, those before and behind the parts that translate errors included.
TEST(EngineMemory, EveryFailedAllocationOfAShortStatementIsAnError) {
  std::size_t k = 0;
  int code = has_error;
  while (code == has_error) {
    ++k;
    code = exit_code_of([k] {
      try {
        database_options options;
        options.device = device::cpu(2);
        database db(options);
        fail_new_at(k, "libarrow");
        try {
          (void)db.execute("SELECT 1 + 1");
        } catch (const sql_error& e) {
          return e.sqlstate() == "53200" ? has_error : has_other_error;
        }
        return news_since() < k ? has_finished : has_error;  // those of destructors may be dispensable
      } catch (const std::exception& e) {
        std::fprintf(stderr, "allocation %zu: %s\n", k, e.what());
        return has_other_error;
      }
    });
  }
  EXPECT_EQ(code, has_finished) << "allocation " << k;
  EXPECT_GT(k, 50U);
}

}  // namespace
}  // namespace espalier::engine
