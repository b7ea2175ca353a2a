// query_bench_test.cpp - `espalier bench query` and `espalier bench papers btree-query-engine`: every part at a small
// size, with its answers checked inside, with and without DuckDB.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "cli/cli_fixture.hpp"

namespace espalier::cli_test {
namespace {

namespace fs = std::filesystem;

const char* const figures = "papers btree-query-engine";
const char* const no_duckdb = "--duckdb-python /nowhere/python3";

class query_bench : public cli {
 protected:
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] outcome measure(const std::string& more, const std::string& suite = "query") const {
    outcome r =
        run("bench " + suite + " --device cpu --repeat 1 --threads 2 " + more + " --out '" + folder_.string() + "'");
    EXPECT_EQ(r.code, 0) << r.err;
    return r;
  }
  [[nodiscard]] std::string file(const std::string& name) const { return contents(folder_ / name); }
  [[nodiscard]] json rows(const std::string& part) const {
    const json results = json::parse(file(part + "-cpu.json"), nullptr, false);
    return results.is_object() && results.contains("rows") ? results["rows"] : json::array();
  }
  [[nodiscard]] std::string tables() const { return file("tables.md"); }
  void expect_in_tables(const std::vector<std::string>& words) const {
    for (const auto& word : words) EXPECT_NE(tables().find(word), std::string::npos) << word << '\n' << tables();
  }
  /// Says in the tables why it is missing, if it is.
  [[nodiscard]] bool has_duckdb() const { return tables().find("DuckDB was not measured") == std::string::npos; }

 private:
  fs::path folder_ = scratch_file("query-engine");
};

TEST_F(query_bench, figures_have_every_index_question_and_size) {
  const outcome r = measure(std::string("--parts identical --max-keys 2^16 ") + no_duckdb, figures);
  EXPECT_NE(r.err.find("identical pairs, 2^16 rows: "), std::string::npos) << "long work says where it is\n" << r.err;
  std::set<std::string> seen;
  for (const auto& row : rows("identical")) {
    EXPECT_GT(row["seconds"].get<double>(), 0) << row.dump(1);
    EXPECT_LE(row["keys"], 1 << 16);
    EXPECT_LE(row["range_elements"], 1 << 20);
    seen.insert(row["index"].get<std::string>() + " " + row["op"].get<std::string>() + " " + row["keys"].dump() + " " +
                row["range_elements"].dump());
  }
  for (const char* const index : {"none", "static", "blink", "radix", "hybrid"}) {
    for (const char* const op : {"range", "count", "sum"}) {
      for (const char* const more : {" 32768 1", " 32768 1048576", " 65536 1024"}) {
        const std::string wanted = std::string(index) + " " + op + more;
        EXPECT_TRUE(seen.contains(wanted)) << wanted;
      }
    }
  }
  expect_in_tables({"## Figure 8: range selection", "## Figure 9: COUNT", "## Figure 10: SUM", "static, CPU",
                    "no index, CPU", "| 2^20 |", "| 2^16 |", "DuckDB was not measured: ", "Command:"});
  for (const char* const plot : {"8a", "8b", "8c", "9a", "9b", "9c", "10a", "10b", "10c"}) {
    const std::string name = std::string("figure-") + plot + ".svg";
    EXPECT_EQ(file(name).rfind("<svg ", 0), 0U) << name;
    EXPECT_EQ(file(name).find("nan"), std::string::npos) << name;
    EXPECT_NE(r.out.find(name), std::string::npos) << r.out;
  }
}

TEST_F(query_bench, rows_of_several_columns_are_fetched_beside_duckdb) {
  static_cast<void>(measure("--parts non-identical --max-keys 2^10", figures));
  EXPECT_FALSE(rows("non-identical").empty());
  expect_in_tables({"## Figure 11", "## Figure 12", "## Figure 13", "| 2^10 |"});
  if (!has_duckdb()) GTEST_SKIP() << tables();
  expect_in_tables({"| DuckDB |"});
  const json all = rows("non-identical");
  EXPECT_TRUE(std::any_of(all.begin(), all.end(), [](const json& r) { return r["ratio"].contains("duckdb"); }));
}

TEST_F(query_bench, targets_stand_beside_what_was_asked) {
  static_cast<void>(measure("--parts ranges,joins,loads,batches,as-of --max-keys 2^12 --load-bytes 100000"));
  expect_in_tables({"2^12 rows: COUNT and SUM over 10 % of the rows", "at least 50x", "1,000 rows by range",
                    "at least 5x", "as-of join, with an index", "as-of join by symbol, without an index", "band join",
                    "at least 3x", "of CSV, strings in quotes", "of Parquet", "at least 0.8x", "statements/s",
                    "the question to the index", "none was measured: this is the CPU"});
  EXPECT_EQ(rows("joins").size(), 6U);
  EXPECT_EQ(rows("batches").at(0)["queries"], 4096);
  for (const auto& row : rows("loads")) EXPECT_GT(row["ratio"]["arrow"].get<double>(), 0) << row.dump(1);
  if (!has_duckdb()) GTEST_SKIP() << tables();
  for (const char* const part : {"ranges", "joins"}) {
    for (const auto& row : rows(part)) EXPECT_GT(row["ratio"]["duckdb"].get<double>(), 0) << row.dump(1);
  }
}

TEST_F(query_bench, tpch_statements_are_answered_as_duckdb_does) {
  static_cast<void>(measure("--parts tpch --max-keys 20000"));
  const json all = rows("tpch");
  ASSERT_EQ(all.size(), 22U);
  for (unsigned i = 0; i < 22; ++i) EXPECT_EQ(all[i]["op"], "Q" + std::to_string(i + 1));
  expect_in_tables({"| Q1 |", "| Q22 |", "20000 rows of lineitem"});
  if (!has_duckdb()) GTEST_SKIP() << tables();
  for (const auto& row : all) EXPECT_GT(row["ratio"]["duckdb"].get<double>(), 0) << row.dump(1);
  expect_in_tables({"geometric mean", "at most 1.00", "worst", "at most 2.00"});
}

TEST_F(query_bench, a_python_without_duckdb_is_said_and_nothing_fails) {
  static_cast<void>(measure(std::string("--parts ranges --max-keys 2^10 ") + no_duckdb));
  expect_in_tables({"DuckDB was not measured: '/nowhere/python3' cannot be started", "not measured"});
  static_cast<void>(measure("--parts ranges --max-keys 2^10 --duckdb-python /bin/cat"));
  expect_in_tables({"DuckDB was not measured: '/bin/cat' does not run Python."});
}

TEST_F(query_bench, suite_refuses_what_it_does_not_take) {
  expect_refused("bench query --keys 100", "--keys");
  expect_refused("bench query --max-keys 100", "--max-keys");
  expect_refused("bench query --max-keys 2^28", "--max-keys");
  expect_refused("bench query --device cpu --threads 1,2", "--threads");
  expect_refused("bench query --load-bytes many", "--load-bytes");
  expect_refused("bench query --parts 8", "'8': choose from ranges, joins, loads, batches, as-of, tpch.");
  expect_refused("bench papers btree-query-engine --parts joins", "'joins': choose from identical, non-identical.");
  expect_refused("bench papers btree-query-engine --load-bytes 10", "which is for query;");
  expect_refused("bench papers cuart --duckdb-python python3", "btree-query-engine");
  expect_refused("bench static --load-bytes 1000", "which is for query;");
}

}  // namespace
}  // namespace espalier::cli_test
