// read_into_test.cpp - files for a table that is there: its types, and columns by name or by position.
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "engine/table/read_into.hpp"
#include "engine/table/write.hpp"
#include "espalier/core/error.hpp"
#include "support/engine_rows.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;
using espalier::test::row_as_text;
using espalier::test::scratch_folder;

using row_text = std::vector<std::string>;

std::string put_file(const scratch_folder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.file(name)) << text;
  return folder.file(name);
}

std::vector<column> people() { return {{"first", {type_id::varchar}, true}, {"last", {type_id::varchar}, true}}; }

std::string refusal(const std::vector<column>& columns, const std::string& files, column_match match,
                    const csv_options& options = {}) {
  try {
    (void)read_into(columns, files, file_format::csv, options, match);
  } catch (const espalier::error& e) {
    return e.what();
  }
  return {};
}

TEST(ReadInto, TypesOfTheTableDecide) {
  const scratch_folder folder;
  const auto path = put_file(folder, "z.csv", "amount,code\n123456789012345678.91,007\n");
  const std::vector<column> columns = {{"code", {type_id::varchar}, true}, {"amount", {type_id::decimal, 22, 2}, true}};
  const auto rows = read_into(columns, path, file_format::csv, {}, column_match::by_name);
  EXPECT_EQ(row_as_text(*rows, 0), (row_text{"007", "123456789012345678.91"}));
}

TEST(ReadInto, EveryFileHasAnOrderOfItsOwn) {
  const scratch_folder folder;
  put_file(folder, "p1.csv", "first,last\nAda,Lovelace\n");
  put_file(folder, "p2.csv", "\"LAST\",first\nHopper,Grace\n");
  const auto rows = read_into(people(), folder.file("p?.csv"), file_format::csv, {}, column_match::by_name);
  EXPECT_EQ(row_as_text(*rows, 0), (row_text{"Ada", "Lovelace"}));
  EXPECT_EQ(row_as_text(*rows, 1), (row_text{"Grace", "Hopper"}));
}

TEST(ReadInto, NamesOfParquetAndArrowFilesCount) {
  const scratch_folder folder;
  const auto path = put_file(folder, "p.csv", "last,first\nHopper,Grace\n");
  const auto swapped = read_table(path, file_format::csv);
  for (const auto format : {file_format::parquet, file_format::arrow}) {
    const auto written = folder.file(std::string("p.") + std::string(to_string(format)));
    write_table(swapped, written, format, {});
    const auto rows = read_into(people(), written, format, {}, column_match::by_name);
    EXPECT_EQ(row_as_text(*rows, 0), (row_text{"Grace", "Hopper"})) << to_string(format);
    EXPECT_THROW((void)read_into(people(), written, format, {}, column_match::by_position), espalier::error);
  }
}

TEST(ReadInto, AnUnknownOrMissingColumnIsNamedWithItsFile) {
  const scratch_folder folder;
  const auto more = put_file(folder, "more.csv", "first,last,age\nAda,Lovelace,36\n");
  const auto less = put_file(folder, "less.csv", "first\nAda\n");
  const auto twice = put_file(folder, "twice.csv", "first,First\nAda,Ada\n");
  const auto unknown = refusal(people(), more, column_match::by_name);
  EXPECT_NE(unknown.find("more.csv' has a column 'age'"), std::string::npos) << unknown;
  const auto missing = refusal(people(), less, column_match::by_name);
  EXPECT_NE(missing.find("less.csv' has no column 'last'"), std::string::npos) << missing;
  EXPECT_NE(refusal(people(), twice, column_match::by_name).find("'first' twice"), std::string::npos);
}

TEST(ReadInto, ByPositionRefusesTheSameNamesInAnotherOrder) {
  const scratch_folder folder;
  const auto swapped = put_file(folder, "swapped.csv", "last,first\nHopper,Grace\n");
  const auto refused = refusal(people(), swapped, column_match::by_position);
  EXPECT_NE(refused.find("swapped.csv' names the columns of the table in another order"), std::string::npos) << refused;
  const auto others = put_file(folder, "others.csv", "given,family\nGrace,Hopper\n");
  const auto rows = read_into(people(), others, file_format::csv, {}, column_match::by_position);
  EXPECT_EQ(row_as_text(*rows, 0), (row_text{"Grace", "Hopper"}));
}

TEST(ReadInto, FilesWithoutHeaderGoByPosition) {
  const scratch_folder folder;
  const auto path = put_file(folder, "bare.csv", "last,first\n");
  const csv_options bare{.header = false};
  const auto rows = read_into(people(), path, file_format::csv, bare, column_match::by_position);
  EXPECT_EQ(row_as_text(*rows, 0), (row_text{"last", "first"}));
  EXPECT_NE(refusal(people(), path, column_match::by_name, bare).find("no header"), std::string::npos);
}

TEST(ReadInto, TakesHeadersWithoutRowsAndHeadersWithLineBreaks) {
  const scratch_folder folder;
  const auto none = put_file(folder, "none.csv", "last,first\n");
  EXPECT_EQ(read_into(people(), none, file_format::csv, {}, column_match::by_name)->num_rows(), 0);
  const auto blank = put_file(folder, "blank.csv", "\"first\r\nname\",last\r\nAda,Lovelace\r\n");
  const auto refused = refusal(people(), blank, column_match::by_name);
  EXPECT_NE(refused.find("first\r\nname"), std::string::npos) << refused;
}

TEST(ReadInto, TimesWithAZoneAreTheirInstants) {
  const scratch_folder folder;
  const auto path = put_file(folder, "t.csv", "at,code\n2024-02-29T12:00:00Z,007\n2024-02-29T12:00:00+02:00,008\n");
  const std::vector<column> columns = {{"at", {type_id::timestamp}, true}, {"code", {type_id::varchar}, true}};
  const auto rows = read_into(columns, path, file_format::csv, {}, column_match::by_name);
  EXPECT_EQ(row_as_text(*rows, 0), (row_text{"2024-02-29 12:00:00.000000", "007"}));
  EXPECT_EQ(row_as_text(*rows, 1), (row_text{"2024-02-29 10:00:00.000000", "008"}));
  const auto bad = put_file(folder, "bad.csv", "at,code\nnoon,007\n");
  EXPECT_NE(refusal(columns, bad, column_match::by_name).find("noon"), std::string::npos);
}

}  // namespace
