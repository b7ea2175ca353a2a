// odd_columns_test.cpp - files with columns of types that no table can hold.
#include <arrow/builder.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/table/write.hpp"
#include "espalier/core/error.hpp"
#include "espalier/engine/database.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

std::string first_value(database& db, const std::string& sql) {
  return (*db.execute(sql).rows->column(0)->GetScalar(0))->ToString();
}

TEST(OddColumns, AreRefusedOnlyWhereTheyAreUsed) {
  const test::scratch_folder folder;
  arrow::Int32Builder numbers;
  arrow::BinaryBuilder bytes;
  arrow::Time32Builder times(arrow::time32(arrow::TimeUnit::SECOND), arrow::default_memory_pool());
  ASSERT_TRUE(bytes.Append("x").ok() && numbers.Append(5).ok() && times.Append(1).ok());
  const arrow::ArrayVector arrays = {*bytes.Finish(), *numbers.Finish(), *times.Finish()};
  const auto rows =
      arrow::Table::Make(arrow::schema({arrow::field("bin", arrays[0]->type()), arrow::field("a", arrays[1]->type()),
                                        arrow::field("at", arrays[2]->type())}),
                         arrays);
  database db({.path = {}, .device = device::cpu()});
  for (const auto format : {file_format::parquet, file_format::arrow}) {
    const auto path = folder.file("odd");
    write_table(rows, path, format, {});
    const std::string from = fmt::format(" FROM read_{}('{}')", to_string(format), path);
    EXPECT_EQ(first_value(db, "SELECT a" + from + " WHERE a > 1"), "5");
    EXPECT_EQ(first_value(db, "SELECT count(*)" + from), "1");
    for (const std::string used : {"SELECT *", "SELECT a, bin, at", "SELECT count(bin), max(at)"}) {
      try {
        db.execute(used + from);
        ADD_FAILURE() << used;
      } catch (const error& e) {
        EXPECT_NE(std::string(e.what()).find("'bin' (binary), 'at' (time32["), std::string::npos) << e.what();
      }
    }
  }
}

}  // namespace
}  // namespace espalier::engine
