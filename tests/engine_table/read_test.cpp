// read_test.cpp - what CSV files say and do not say, types of other writers, globs.
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <limits>
#include <random>
#include <string>

#include "engine/table/convert.hpp"
#include "engine/table/read.hpp"
#include "engine/table/read_formats.hpp"
#include "engine/table/write.hpp"
#include "espalier/core/error.hpp"
#include "support/engine_rows.hpp"
#include "support/less_work.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;
using espalier::test::less_work;
using espalier::test::row_as_text;
using espalier::test::scratch_folder;

std::string put_text(const scratch_folder& folder, const std::string& name, const std::string& text) {
  std::ofstream(folder.file(name)) << text;
  return folder.file(name);
}

TEST(ReadCsv, GuessesTypesAndKeepsEmptyStringsApartFromNull) {
  const scratch_folder folder;
  const auto path = put_text(
      folder, "a.csv",
      "n,x,day,at,s\n1,0.5,2024-02-29,2024-02-29 12:00:01,\"\"\n,,,,\n3,1.5,1969-12-31,1970-01-01 00:00:00,t\n");
  const auto rows = read_table(path, file_format::csv);
  const auto columns = loaded_columns(*rows->schema());
  EXPECT_EQ(columns[0].type.id, type_id::int64);
  EXPECT_EQ(columns[1].type.id, type_id::float64);
  EXPECT_EQ(columns[2].type.id, type_id::date);
  EXPECT_EQ(columns[3].type.id, type_id::timestamp);
  EXPECT_EQ(columns[4].type.id, type_id::varchar);
  EXPECT_EQ(row_as_text(*rows, 0).back(), "");
  EXPECT_FALSE(rows->column(4)->GetScalar(1).ValueOrDie()->is_valid);
  EXPECT_TRUE(rows->column(4)->GetScalar(0).ValueOrDie()->is_valid);
}

TEST(ReadCsv, ReadsFilesWithoutHeaderWithOtherSeparators) {
  const scratch_folder folder;
  const auto path = put_text(folder, "a.tsv", "1\tx\n2\t-\n");
  csv_options options{.delimiter = '\t', .header = false, .null_text = "-"};
  options.types["column0"] = {type_id::int16};
  const auto rows = read_table(path, file_format::csv, options);
  EXPECT_EQ(rows->ColumnNames(), (std::vector<std::string>{"column0", "column1"}));
  EXPECT_EQ(rows->column(0)->type()->id(), arrow::Type::INT16);
  EXPECT_EQ(rows->num_rows(), 2);
  EXPECT_EQ(rows->column(1)->null_count(), 1);
}

TEST(ReadCsv, FilesThatWereGuessedDifferentlyAgreeWithoutLosingText) {
  const scratch_folder folder;
  put_text(folder, "1.csv", "code,x,empty\n007,1,\n");
  put_text(folder, "2.csv", "code,x,empty\nA7,1.5,2\n");
  const auto rows = read_table(folder.file("*.csv"), file_format::csv);
  EXPECT_EQ(row_as_text(*rows, 0), (std::vector<std::string>{"007", "1", "null"}));
  EXPECT_EQ(row_as_text(*rows, 1), (std::vector<std::string>{"A7", "1.5", "2"}));
}

TEST(ReadCsv, AnEmptyLineOfOneColumnIsNull) {
  const scratch_folder folder;
  const auto nulls = [](const arrow::Table& rows) { return rows.column(0)->null_count(); };
  const auto numbers = read_table(put_text(folder, "n.csv", "n\n1\n\n3\n\n"), file_format::csv);
  EXPECT_EQ(numbers->column(0)->type()->id(), arrow::Type::INT64);
  EXPECT_EQ(numbers->num_rows(), 4);
  EXPECT_EQ(nulls(*numbers), 2);
  const auto texts = read_table(put_text(folder, "s.csv", "\n\"\"\nx\n"), file_format::csv, {.header = false});
  EXPECT_EQ(texts->num_rows(), 3);
  EXPECT_EQ(nulls(*texts), 1);
  EXPECT_FALSE(texts->column(0)->GetScalar(0).ValueOrDie()->is_valid);
  const auto two = read_table(put_text(folder, "t.csv", "a,b\n1,2\n\n3,4\n"), file_format::csv);
  EXPECT_EQ(two->num_rows(), 2);
}

TEST(ReadCsv, HexadecimalNumbersStayText) {
  const scratch_folder folder;
  const auto path = put_text(folder, "h.csv", "a,b,c\n0x10,1,0x1F\n7,2,x\n");
  const auto rows = read_table(path, file_format::csv);
  EXPECT_EQ(row_as_text(*rows, 0), (std::vector<std::string>{"0x10", "1", "0x1F"}));
  EXPECT_EQ(row_as_text(*rows, 1), (std::vector<std::string>{"7", "2", "x"}));
  EXPECT_EQ(rows->column(1)->type()->id(), arrow::Type::INT64);
  csv_options options;
  options.types["a"] = {type_id::int32};
  EXPECT_THROW((void)read_table(path, file_format::csv, options), espalier::error);
}

TEST(ReadCsv, FindsHexadecimalNumbersAcrossBlocks) {
  const scratch_folder folder;
  for (const std::size_t before : {std::size_t{4} << 20, (std::size_t{4} << 20) + 1, std::size_t{17}}) {
    std::string text(before - 1, '1');
    EXPECT_FALSE(may_have_hexadecimals(put_text(folder, "f", text + "x0")));
    EXPECT_TRUE(may_have_hexadecimals(put_text(folder, "f", text + "0X1")));
  }
}

TEST(ReadCsv, TimesOfDayStayText) {
  const scratch_folder folder;
  const auto rows = read_table(put_text(folder, "a.csv", "t\n12:30:00\n"), file_format::csv);
  EXPECT_EQ(row_as_text(*rows, 0), std::vector<std::string>{"12:30:00"});
}

TEST(ReadCsv, SeesLineBreaksInsideQuotesAcrossBlocks) {
  const scratch_folder folder;
  const std::string filler(5 << 20, 'x');
  const auto plain = put_text(folder, "plain.csv", "a\n\"" + filler + "\"\n\"" + filler + "\"\n");
  const auto broken = put_text(folder, "broken.csv", "a\n\"" + filler + "\"\n\"" + filler + "\ny\"\n");
  EXPECT_FALSE(has_quoted_line_breaks(plain, '"'));
  EXPECT_TRUE(has_quoted_line_breaks(broken, '"'));
  EXPECT_EQ(read_table(broken, file_format::csv)->num_rows(), 2);
}

TEST(ReadCsv, SeesLineBreaksInsideQuotesAtEveryPlace) {
  const scratch_folder folder;
  std::mt19937 random(1);
  int broken = 0;
  for (int round = 0; round < 100; ++round) {
    // Mostly lines without quotes, so that both answers come up.
    std::string text(random() % 300, 'x');
    bool inside = false, expected = false;
    for (auto& c : text) {
      const auto choice = random() % 64;
      c = choice == 0 ? '"' : choice == 1 && !inside ? '\n' : choice == 2 && random() % 4 == 0 ? '\r' : 'x';
      if (c == '"') inside = !inside;
      expected |= inside && (c == '\n' || c == '\r');
    }
    EXPECT_EQ(has_quoted_line_breaks(put_text(folder, "a.csv", text), '"'), expected) << text;
    broken += expected ? 1 : 0;
  }
  EXPECT_GT(broken, 5);
  EXPECT_LT(broken, 95);
}

TEST(ReadCsv, ProgressIsToldAndCanStopTheRead) {
  const scratch_folder folder;
  std::string text = "a,b\n";
  for (std::uint32_t i = 0; i < 2000000 / less_work; ++i) text += "12345678,abcdefgh\n";
  const auto path = put_text(folder, "a.csv", text);
  struct stopped {};
  const progress stop = [](std::string_view, std::uint64_t, std::uint64_t) { throw stopped{}; };
  try {
    (void)read_table(path, file_format::csv, {}, stop);  // a fast machine may be done before anybody is told
  } catch (const stopped&) {
  }
  EXPECT_EQ(read_table(path, file_format::csv)->num_rows(), 2000000 / less_work);
}

TEST(ReadFiles, OtherWritersTypesAreConverted) {
  const scratch_folder folder;
  arrow::UInt64Builder u64;
  ASSERT_TRUE(u64.AppendValues({0, std::numeric_limits<std::uint64_t>::max()}).ok());
  arrow::TimestampBuilder zoned(arrow::timestamp(arrow::TimeUnit::NANO, "Europe/Berlin"), arrow::default_memory_pool());
  ASSERT_TRUE(zoned.AppendValues({1001, -1000}).ok());
  arrow::StringDictionaryBuilder words;
  ASSERT_TRUE(words.Append("x").ok() && words.AppendNull().ok());
  arrow::LargeStringBuilder large;
  ASSERT_TRUE(large.Append("y").ok() && large.Append("z").ok());
  arrow::HalfFloatBuilder half;
  ASSERT_TRUE(half.Append(0x3e00).ok() && half.AppendNull().ok());
  arrow::Date64Builder day;
  ASSERT_TRUE(day.Append(86400000).ok() && day.AppendNull().ok());
  arrow::ArrayVector arrays;
  for (arrow::ArrayBuilder* builder :
       std::initializer_list<arrow::ArrayBuilder*>{&u64, &zoned, &words, &large, &half, &day}) {
    arrays.push_back(builder->Finish().ValueOrDie());
  }
  arrow::FieldVector fields;
  for (const auto& array : arrays) fields.push_back(arrow::field("c" + std::to_string(fields.size()), array->type()));
  write_table(arrow::Table::Make(arrow::schema(fields), arrays), folder.file("a.arrow"), file_format::arrow);
  const auto rows = read_table(folder.file("a.arrow"), file_format::arrow);
  EXPECT_EQ(row_as_text(*rows, 0),
            (std::vector<std::string>{"0", "1970-01-01 00:00:00.000001", "x", "y", "1.5", "1970-01-02"}));
  EXPECT_EQ(row_as_text(*rows, 1), (std::vector<std::string>{"18446744073709551615", "1969-12-31 23:59:59.999999",
                                                             "null", "z", "null", "null"}));
}

TEST(ReadFiles, ColumnsNoTableCanHoldAreRefusedByName) {
  const scratch_folder folder;
  arrow::Time32Builder time(arrow::time32(arrow::TimeUnit::SECOND), arrow::default_memory_pool());
  ASSERT_TRUE(time.Append(3).ok());
  const auto array = time.Finish().ValueOrDie();
  write_table(arrow::Table::Make(arrow::schema({arrow::field("noon", array->type())}), {array}),
              folder.file("a.parquet"), file_format::parquet);
  try {
    (void)read_table(folder.file("a.parquet"), file_format::parquet);
    FAIL();
  } catch (const espalier::error& e) {
    EXPECT_NE(std::string(e.what()).find("'noon'"), std::string::npos) << e.what();
  }
}

TEST(ReadFiles, MissingFilesFoldersAndStrangersAreRefused) {
  const scratch_folder folder;
  EXPECT_THROW((void)read_table(folder.file("none.csv"), file_format::csv), espalier::error);
  EXPECT_THROW((void)read_table(folder.file("*.csv"), file_format::csv), espalier::error);
  EXPECT_THROW((void)read_table(folder.path().string(), file_format::csv), espalier::error);
  const auto empty = put_text(folder, "empty", "");
  const auto text = put_text(folder, "text", "one two three\n\n");
  for (const auto& path : {empty, text}) {
    EXPECT_THROW((void)read_table(path, file_format::parquet), espalier::error);
    EXPECT_THROW((void)read_table(path, file_format::arrow), espalier::error);
  }
  EXPECT_THROW((void)read_table(empty, file_format::csv), espalier::error);
}

TEST(ReadFiles, AlternativesKeepTheirOrderAndOddNamesTheirMeaning) {
  const scratch_folder folder;
  put_text(folder, "b.csv", "a\n1\n");
  put_text(folder, "a,{1}.csv", "a\n2\n");
  const auto rows = read_table(folder.file("{b.csv,a\\,\\{1\\}.csv}"), file_format::csv);
  EXPECT_EQ(row_as_text(*rows, 0), std::vector<std::string>{"1"});
  EXPECT_EQ(row_as_text(*rows, 1), std::vector<std::string>{"2"});
}

TEST(ReadFiles, FilesWithOtherColumnsAreNotMixed) {
  const scratch_folder folder;
  put_text(folder, "1.csv", "a,b\n1,2\n");
  put_text(folder, "2.csv", "a,c\n1,2\n");
  EXPECT_THROW((void)read_table(folder.file("*.csv"), file_format::csv), espalier::error);
}

TEST(WriteFiles, AFailureLeavesTheOldFile) {
  const scratch_folder folder;
  const auto path = put_text(folder, "kept.csv", "as it was");
  const csv_options options{.null_text = "\""};  // no writer accepts that
  EXPECT_THROW(write_table(espalier::test::random_rows(50, 1), path, file_format::csv, options), espalier::error);
  std::string text;
  std::getline(std::ifstream(path), text);
  EXPECT_EQ(text, "as it was");
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST(WriteFiles, FilesOfOthersStay) {
  const scratch_folder folder;
  const auto mine = put_text(folder, "out.csv.part", "mine");
  const std::string long_name(250, 'n');
  for (const std::string& name : {std::string("out.csv"), long_name}) {
    write_table(espalier::test::random_rows(50, 1), folder.file(name), file_format::csv);
    EXPECT_TRUE(std::filesystem::exists(folder.file(name)));
  }
  std::string text;
  std::getline(std::ifstream(mine), text);
  EXPECT_EQ(text, "mine");
  const auto files = std::filesystem::directory_iterator(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 3) << "a temporary file stayed";
}

TEST(WriteFiles, LinksAreFollowed) {
  const scratch_folder folder;
  std::filesystem::create_symlink("target.csv", folder.path() / "link.csv");
  write_table(espalier::test::random_rows(50, 1), folder.file("link.csv"), file_format::csv);
  EXPECT_TRUE(std::filesystem::is_symlink(folder.path() / "link.csv"));
  EXPECT_TRUE(std::filesystem::is_regular_file(folder.path() / "target.csv"));
}

// As /dev/stdout is: a link of the system that names an open pipe, not a file.
TEST(WriteFiles, OpenPipesAreWrittenToAsTheyAre) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  const auto rows = espalier::test::random_rows(1, 1)->SelectColumns({0}).ValueOrDie();
  write_table(rows, "/proc/self/fd/" + std::to_string(ends[1]), file_format::csv);
  ::close(ends[1]);
  std::array<char, 100> text{};
  EXPECT_GT(::read(ends[0], text.data(), text.size()), 3);
  EXPECT_EQ(text[0], '"');
  ::close(ends[0]);
}

TEST(FormatNames, FollowEndingsAndNames) {
  EXPECT_EQ(format_from_path("a/b.CSV"), file_format::csv);
  EXPECT_EQ(format_from_path("b.parquet"), file_format::parquet);
  EXPECT_EQ(format_from_path("b.feather"), file_format::arrow);
  EXPECT_EQ(format_from_path("b.xlsx"), std::nullopt);
  EXPECT_EQ(format_from_name("Parquet"), file_format::parquet);
  EXPECT_EQ(format_from_name("orc"), std::nullopt);
}

}  // namespace
