// round_trip_test.cpp - all types and NULLs through every file format and back.
#include <arrow/io/file.h>
#include <gtest/gtest.h>

#include <fstream>

#include "engine/table/read.hpp"
#include "engine/table/write.hpp"
#include "espalier/core/error.hpp"
#include "support/engine_rows.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;
using espalier::test::random_rows;
using espalier::test::scratch_folder;

class RoundTrip : public ::testing::TestWithParam<file_format> {};

// CSV does not say which types its numbers have.
csv_options types_for_csv() {
  csv_options options;
  const auto schema = espalier::test::schema_of_all_types();
  for (const auto& field : schema->fields()) {
    options.types[field->name()] = *stored_type(*field->type());
  }
  return options;
}

TEST_P(RoundTrip, KeepsAllTypesAndNulls) {
  const scratch_folder folder;
  const auto rows = random_rows(3000, 5);
  const auto path = folder.file("rows");
  write_table(rows, path, GetParam());
  const auto read = read_table(path, GetParam(), types_for_csv());
  ASSERT_TRUE(read->ValidateFull().ok());
  EXPECT_TRUE(read->Equals(*rows));
  EXPECT_FALSE(std::filesystem::exists(path + ".part"));
}

TEST_P(RoundTrip, KeepsTablesWithoutRows) {
  const scratch_folder folder;
  const auto path = folder.file("rows");
  write_table(random_rows(0, 5), path, GetParam());
  const auto read = read_table(path, GetParam(), types_for_csv());
  EXPECT_EQ(read->num_rows(), 0);
  EXPECT_TRUE(read->schema()->Equals(espalier::test::schema_of_all_types()));
}

TEST_P(RoundTrip, KeepsNullsOfOneColumn) {
  const scratch_folder folder;
  const auto rows = random_rows(400, 8);
  for (int i = 0; i < rows->num_columns(); ++i) {
    const auto one = rows->SelectColumns({i}).ValueOrDie();
    const auto path = folder.file("column" + std::to_string(i));
    write_table(one, path, GetParam());
    const auto& field = *one->schema()->field(0);
    csv_options options;
    options.types[field.name()] = *stored_type(*field.type());
    EXPECT_TRUE(read_table(path, GetParam(), options)->Equals(*one)) << field.ToString();
  }
}

TEST_P(RoundTrip, ReadsManyFilesAsOneTable) {
  const scratch_folder folder;
  const auto rows = random_rows(900, 6);
  for (int i = 0; i < 3; ++i)
    write_table(rows->Slice(i * 300, 300), folder.file("part" + std::to_string(i)), GetParam());
  const auto read = read_table(folder.file("part[0-9]"), GetParam(), types_for_csv());
  EXPECT_TRUE(read->Equals(*rows));
}

TEST_P(RoundTrip, DamagedFilesGiveOneSentence) {
  const scratch_folder folder;
  const auto path = folder.file("rows");
  write_table(random_rows(500, 7), path, GetParam());
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  std::ofstream(path, std::ios::app) << "\x01\x02,\"";
  try {
    (void)read_table(path, GetParam(), types_for_csv());
    FAIL() << "a damaged file was read";
  } catch (const espalier::error& e) {
    const std::string sentence = e.what();
    EXPECT_NE(sentence.find(path), std::string::npos) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    EXPECT_EQ(sentence.back(), '.') << sentence;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, RoundTrip,
                         ::testing::Values(file_format::csv, file_format::parquet, file_format::arrow),
                         [](const auto& format) { return std::string(to_string(format.param)); });

TEST(RoundTripArrow, StreamsAreReadAsWell) {
  const scratch_folder folder;
  const auto rows = random_rows(700, 8);
  const auto path = folder.file("stream");
  {
    const auto out = arrow::io::FileOutputStream::Open(path).ValueOrDie();
    write_table(rows, *out, file_format::arrow);
    ASSERT_TRUE(out->Close().ok());
  }
  EXPECT_TRUE(read_table(path, file_format::arrow)->Equals(*rows));
}

}  // namespace
