// Prepared statements: a table of parameters gives what the statements one by one give.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "espalier/engine/database.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

std::shared_ptr<arrow::Table> parameter_table(const std::vector<std::pair<std::int64_t, std::int64_t>>& rows) {
  arrow::Int64Builder first, second;
  for (const auto& [a, b] : rows) {
    EXPECT_TRUE(first.Append(a).ok());
    EXPECT_TRUE(second.Append(b).ok());
  }
  return arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int64())}),
                            {*first.Finish(), *second.Finish()});
}

class EnginePrepared : public testing::TestWithParam<const char*> {
 protected:
  EnginePrepared() : db_(options()) {
    db_.execute("CREATE TABLE t (k integer, v bigint, s varchar)");
    std::mt19937 random(5);
    std::string values;
    for (int i = 0; i < 500; ++i) {
      values += (i ? ", (" : "(") + std::to_string(random() % 200) + ", " + std::to_string(random() % 1000) + ", 'x" +
                std::to_string(random() % 5) + "')";
    }
    db_.execute("INSERT INTO t VALUES " + values);
    if (std::string(GetParam()) != "none") db_.execute(std::string("CREATE INDEX i ON t USING ") + GetParam() + " (k)");
    for (int i = 0; i < 40; ++i) {
      const auto lo = static_cast<std::int64_t>(random() % 220);
      parameters_.emplace_back(lo, lo + static_cast<std::int64_t>(random() % 30) - 3);
    }
  }

  static database_options options() {
    database_options out;
    out.device = device::cpu();
    out.prefer_indexes = true;
    return out;
  }

  // $1 and $2 as numbers in the text.
  static std::string with_values(std::string sql, std::pair<std::int64_t, std::int64_t> values) {
    for (const auto& [name, value] :
         {std::pair<std::string, std::int64_t>{"$1", values.first}, {"$2", values.second}}) {
      for (auto at = sql.find(name); at != std::string::npos; at = sql.find(name))
        sql.replace(at, 2, std::to_string(value));
    }
    return sql;
  }

  void compare(const std::string& sql) {
    auto statement = db_.prepare(sql);
    const auto all = statement.execute(*parameter_table(parameters_)).rows;
    std::int64_t at = 0;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const auto one = db_.execute(with_values(sql, parameters_[i])).rows;
      for (std::int64_t row = 0; row < one->num_rows(); ++row, ++at) {
        ASSERT_LT(at, all->num_rows()) << sql;
        EXPECT_EQ((*all->column(0)->GetScalar(at))->ToString(), std::to_string(i)) << sql;
        for (int column = 0; column < one->num_columns(); ++column) {
          EXPECT_EQ((*all->column(column + 1)->GetScalar(at))->ToString(),
                    (*one->column(column)->GetScalar(row))->ToString())
              << sql << " statement " << i;
        }
      }
    }
    EXPECT_EQ(at, all->num_rows()) << sql;
  }

  database db_;
  std::vector<std::pair<std::int64_t, std::int64_t>> parameters_;
};

TEST_P(EnginePrepared, RangeAggregates) {
  compare("SELECT count(*), sum(v), min(v), max(v), avg(v) FROM t WHERE k BETWEEN $1 AND $2");
  compare("SELECT sum(v) + 1, $1 FROM t WHERE k >= $1 AND k < $2");
}

TEST_P(EnginePrepared, Rows) {
  compare("SELECT k, v, s FROM t WHERE k = $1 ORDER BY v, s");
  compare("SELECT count(*) FROM t WHERE k = $1 AND v > $2");
  compare("SELECT count(*), $2 + 1 FROM t WHERE v > $1");
  compare("SELECT v FROM t WHERE k IS NOT NULL AND v < $1 ORDER BY v");
  compare("SELECT v FROM t WHERE k = 7 AND v > $1 ORDER BY v");
}

TEST_P(EnginePrepared, OtherStatements) {
  compare("SELECT k, count(*) FROM t WHERE k BETWEEN $1 AND $2 GROUP BY k ORDER BY k");
  compare("SELECT k FROM t WHERE k > $1 ORDER BY k LIMIT 3");
}

TEST_P(EnginePrepared, RowsOfOneStatementAreTogether) {
  auto statement = db_.prepare("SELECT v FROM t WHERE k = $1");
  EXPECT_EQ(statement.parameters(), 1U);
  const auto rows = statement.execute(*parameter_table(parameters_)).rows;
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < rows->num_rows(); ++i) {
    const auto number = std::stoll((*rows->column(0)->GetScalar(i))->ToString());
    EXPECT_GE(number, last);
    last = number;
  }
}

TEST_P(EnginePrepared, NoParameters) {
  auto statement = db_.prepare("SELECT sum(v) FROM t WHERE k BETWEEN $1 AND $2");
  const auto rows = statement.execute(*parameter_table({})).rows;
  EXPECT_EQ(rows->num_rows(), 0);
  EXPECT_EQ(rows->num_columns(), 2);
}

INSTANTIATE_TEST_SUITE_P(Kinds, EnginePrepared, testing::Values("none", "static", "blink", "radix", "hybrid", "auto"));

// A table of one column.
template <class Builder, class Value>
std::shared_ptr<arrow::Table> one_column(Builder& builder, const std::vector<std::optional<Value>>& values) {
  for (const auto& value : values) EXPECT_TRUE((value ? builder.Append(*value) : builder.AppendNull()).ok());
  const auto array = *builder.Finish();
  return arrow::Table::Make(arrow::schema({arrow::field("p", array->type())}), {array});
}

TEST_P(EnginePrepared, ValuesAreNotRoundedToTheTypeOfTheirUse) {
  for (const char* sql : {"SELECT k FROM t WHERE k = $1", "SELECT count(*) FROM t WHERE k BETWEEN $1 AND 90",
                          "SELECT k FROM t WHERE k IN ($1, 7)"}) {
    auto statement = db_.prepare(sql);
    arrow::DoubleBuilder inexact, exact;
    EXPECT_THROW((void)statement.execute(*one_column<arrow::DoubleBuilder, double>(inexact, {1.0, 1.5})), sql_error)
        << sql;
    arrow::Int64Builder integers;
    EXPECT_TRUE(
        statement.execute(*one_column<arrow::DoubleBuilder, double>(exact, {3.0, 90.0}))
            .rows->Equals(*statement.execute(*one_column<arrow::Int64Builder, std::int64_t>(integers, {3, 90})).rows))
        << sql;
  }
}

TEST_P(EnginePrepared, NullsAndTextsAreParameters) {
  auto statement = db_.prepare("SELECT count(*) FROM t WHERE k = $1");
  arrow::NullBuilder nulls;
  ASSERT_TRUE(nulls.AppendNull().ok());
  const auto none = *nulls.Finish();
  const auto of_null =
      statement.execute(*arrow::Table::Make(arrow::schema({arrow::field("p", none->type())}), {none})).rows;
  EXPECT_EQ((*of_null->column(1)->GetScalar(0))->ToString(), "0");
  arrow::StringBuilder texts;
  arrow::Int64Builder numbers;
  const auto of_texts =
      statement.execute(*one_column<arrow::StringBuilder, std::string>(texts, {"7", std::nullopt})).rows;
  EXPECT_TRUE(of_texts->Equals(
      *statement.execute(*one_column<arrow::Int64Builder, std::int64_t>(numbers, {7, std::nullopt})).rows));
  arrow::StringBuilder wrong;
  EXPECT_THROW((void)statement.execute(*one_column<arrow::StringBuilder, std::string>(wrong, {"seven"})), sql_error);
}

// The file is read again for each row of parameters, after prepare() has returned.
TEST(EnginePreparedFiles, AreReadWhenTheStatementRuns) {
  const test::scratch_folder folder;
  std::ofstream(folder.file("n.csv")) << "a,b\n1,10\n2,20\n2,30\n";
  database_options options;
  options.device = device::cpu();
  database db(options);
  auto statement = db.prepare("SELECT sum(b) FROM read_csv('" + folder.file("n.csv") + "') WHERE a = $1 OR b = $2");
  const auto rows = statement.execute(*parameter_table({{1, 0}, {2, 10}, {3, 0}})).rows;
  ASSERT_EQ(rows->num_rows(), 3);
  EXPECT_EQ((*rows->column(1)->GetScalar(0))->ToString(), "10");
  EXPECT_EQ((*rows->column(1)->GetScalar(1))->ToString(), "60");
  EXPECT_FALSE((*rows->column(1)->GetScalar(2))->is_valid);
}

TEST(EnginePreparedErrors, AreSentences) {
  database_options options;
  options.device = device::cpu();
  database db(options);
  db.execute("CREATE TABLE t (k integer)");
  EXPECT_THROW((void)db.prepare("DROP TABLE t"), sql_error);
  EXPECT_THROW((void)db.prepare("SELECT zzz FROM t"), sql_error);
  auto statement = db.prepare("SELECT * FROM t WHERE k = $3");
  EXPECT_THROW((void)statement.execute(*parameter_table({{1, 2}})), sql_error);
}

}  // namespace
}  // namespace espalier::engine
