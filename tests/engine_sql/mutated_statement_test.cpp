// Statements with random changes: answered or refused, never a crash. The fuzzer (tests/fuzz) has the same entry.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "support/less_work.hpp"
#include "support/run_any_statement.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::test {
namespace {

const std::vector<std::string>& whole_statements() {
  static const std::vector<std::string> all = {
      "SELECT a, count(*), sum(n) FROM t WHERE a BETWEEN 1 AND 3 AND s LIKE 'o%' GROUP BY a HAVING count(*) > 0 ORDER "
      "BY 1 DESC",
      "SELECT t.id, u.k FROM t LEFT JOIN u ON t.id = u.t_id AND u.k IS NOT NULL WHERE t.a > 0 OR t.ok IS NOT TRUE",
      "SELECT CASE WHEN a > 1 THEN 'x' ELSE s END, coalesce(a, -1), b::varchar || 'y', dt + 1, n * 2.5 FROM t",
      "SELECT id FROM t WHERE id IN (SELECT t_id FROM u) AND NOT EXISTS (SELECT 1 FROM u WHERE u.id = t.a)",
      "SELECT t.id, q.k FROM t LEFT JOIN LATERAL (SELECT k FROM u WHERE u.t_id <= t.id ORDER BY u.t_id DESC LIMIT 1) q "
      "ON true",
      "WITH x AS (SELECT DISTINCT a FROM t) SELECT max(a) FROM x UNION ALL SELECT count(DISTINCT k) FROM u ORDER BY 1 "
      "LIMIT 5",
      "INSERT INTO u (id, k) VALUES (7, 'seven'), (8, NULL)",
      "UPDATE u SET k = k || 'x', t_id = id % 3 WHERE id > 2",
      "DELETE FROM u WHERE id > 5",
      "EXPLAIN (ANALYZE, FORMAT json) SELECT extract(year from dt), date_trunc('month', ts) FROM t WHERE ts > "
      "'2024-01-01'",
      "CREATE INDEX i ON u USING radix (k, id)",
      "DROP INDEX IF EXISTS i",
      "COPY u (id, k) TO 'out.csv' (FORMAT csv, HEADER false, DELIMITER ';', NULL 'none')",
      "COPY u FROM 'u.csv' (FORMAT csv, HEADER true)",
      "COPY (SELECT id, s, ts FROM t WHERE a > 0) TO 'out.parquet' (FORMAT parquet)",
      "COPY u FROM 'u.arrow' (FORMAT arrow, BY_NAME true)",
      "SELECT x.id, count(*) FROM read_csv('u.csv', header => true) x JOIN read_parquet('t.parquet') y ON x.t_id = "
      "y.id GROUP BY 1",
      "SELECT max(dt), min(s) FROM read_arrow('t.arrow') WHERE d > 0",
      "SELECT count(*) FROM read_parquet('t.par*')",
  };
  return all;
}

std::vector<std::pair<std::size_t, std::size_t>> words_of(const std::string& text) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = text.find_first_not_of(" (),", at);
    if (begin == std::string::npos) break;
    at = std::min(text.find_first_of(" (),", begin), text.size());
    out.emplace_back(begin, at - begin);
  }
  return out;
}

void replace_word(std::string& text, const std::string& other, std::mt19937& random) {
  const auto mine = words_of(text);
  const auto theirs = words_of(other);
  if (mine.empty() || theirs.empty()) return;
  const auto [at, length] = mine[random() % mine.size()];
  const auto [from, count] = theirs[random() % theirs.size()];
  text.replace(at, length, other.substr(from, count));
}

std::string mutated(std::mt19937& random) {
  const auto& all = whole_statements();
  std::string out = all[random() % all.size()];
  const auto changes = 1 + random() % 4;
  for (unsigned i = 0; i < changes && !out.empty(); ++i) {
    const auto at = random() % out.size();
    switch (random() % 10) {
      case 0:
        out.erase(at, 1 + random() % 8);
        break;
      case 1:
        out[at] = static_cast<char>(random() % 256);
        break;
      case 2:
        out.insert(at, out.substr(random() % out.size(), random() % 12));
        break;
      case 3: {
        const auto& other = all[random() % all.size()];
        out.insert(at, other.substr(random() % other.size(), random() % 30));
        break;
      }
      case 4: {
        static const char* const words[] = {
            " NULL ",  " 9223372036854775807 ", " -1 ",      " ''",   " (",       ") ", " * ", " a ", " t ", " / 0 ",
            " 1e308 ", "::smallint ",           " LIMIT 0 ", " NOT ", " IN (1) ", "$1", " , "};
        out.insert(at, words[random() % std::size(words)]);
        break;
      }
      case 5:
        out.resize(at);
        break;
      default:
        replace_word(out, all[random() % all.size()], random);  // what the grammar accepts more often
    }
  }
  return out;
}

TEST(EngineMutatedStatement, IsAnsweredOrRefused) {
  statement_files files;
  for (const auto& statement : whole_statements()) EXPECT_TRUE(run_any_statement(statement, files)) << statement;
  std::mt19937 random(2024);
  int answered = 0;
  const int rounds = 12000 / static_cast<int>(less_work);
  for (int i = 0; i < rounds; ++i) answered += run_any_statement(mutated(random), files) ? 1 : 0;
  EXPECT_GT(answered, rounds / 100);
  for (const auto& entry : small_database().tables().all()) {
    for (const auto& index : entry->indexes) EXPECT_EQ(index->validate(), "") << index->spec().name;
  }
}

TEST(EngineMutatedStatement, TouchesFilesOfItsOwnFolderOnly) {
  const scratch_folder outside;
  const std::string name = outside.file("out.csv");
  statement_files files;
  EXPECT_FALSE(run_any_statement("COPY u TO '" + name + "'", files));
  EXPECT_FALSE(run_any_statement("COPY u TO '..\\out.csv'", files));
  EXPECT_FALSE(run_any_statement("COPY u TO U&'!002Ftmp!002Fout.csv' UESCAPE '!'", files));
  EXPECT_FALSE(std::filesystem::exists(name));
  EXPECT_TRUE(run_any_statement("COPY u TO 'out.csv'", files));
  EXPECT_TRUE(std::filesystem::exists("out.csv"));  // the process works in that folder
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(run_any_statement("COPY u TO 'o" + std::to_string(i) + ".csv'", files));
  EXPECT_LE(std::distance(std::filesystem::directory_iterator("."), {}), 41);
}

}  // namespace
}  // namespace espalier::test
