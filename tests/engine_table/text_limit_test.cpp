// text_limit_test.cpp - text beyond what one array holds is split, and arrays with wrong offsets are refused.
#include "engine/table/text_limit.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/table/read.hpp"
#include "engine/table/table_version.hpp"
#include "engine/table/write.hpp"
#include "espalier/engine/engine_error.hpp"
#include "support/scratch_folder.hpp"

namespace {

using namespace espalier::engine;

std::shared_ptr<arrow::Table> one_column(const std::shared_ptr<arrow::Array>& values) {
  return arrow::Table::Make(arrow::schema({arrow::field("s", values->type())}), {values});
}

// Rows whose values alternate between two long texts, as a dictionary encodes them.
std::shared_ptr<arrow::Array> encoded_rows(int rows, std::size_t bytes) {
  arrow::StringBuilder values;
  EXPECT_TRUE(values.AppendValues({std::string(bytes, 'a'), std::string(bytes, 'b')}).ok());
  arrow::Int32Builder indices;
  for (int i = 0; i < rows; ++i) EXPECT_TRUE((i % 5 == 4 ? indices.AppendNull() : indices.Append(i % 2)).ok());
  return arrow::DictionaryArray::FromArrays(*indices.Finish(), *values.Finish()).ValueOrDie();
}

void expect_within_limit(const arrow::ChunkedArray& text) {
  for (const auto& chunk : text.chunks()) {
    ASSERT_TRUE(chunk->ValidateFull().ok());
    EXPECT_LE(static_cast<const arrow::StringArray&>(*chunk).total_values_length(), most_text_bytes());
  }
}

TEST(TextLimit, DictionariesAreDecodedInParts) {
  const lowered_text_limit limit(1000);
  const auto table = table_version::from(one_column(encoded_rows(100, 90)));
  EXPECT_EQ(table->rows(), 100U);
  EXPECT_GE(table->segments().size(), 8U);
  expect_within_limit(*table->data(0));
  for (const std::uint64_t row : {0U, 3U, 97U}) {
    const std::vector<std::uint64_t> rows = {row};
    const std::vector<std::size_t> columns = {0};
    const auto value = table->take(columns, rows)->column(0)->GetScalar(0).ValueOrDie()->ToString();
    EXPECT_EQ(value, std::string(90, row % 2 == 0 ? 'a' : 'b')) << row;
  }
}

TEST(TextLimit, FilesWithDictionariesAreReadInParts) {
  const espalier::test::scratch_folder folder;
  for (const auto format : {file_format::arrow, file_format::parquet}) {
    const auto path = folder.file(std::string(to_string(format)));
    write_table(one_column(encoded_rows(100, 90)), path, format);
    const lowered_text_limit limit(1000);
    const auto read = read_table(path, format);
    EXPECT_EQ(read->num_rows(), 100);
    const auto table = table_version::from(read);
    expect_within_limit(*table->data(0));
  }
}

TEST(TextLimit, AppendedSegmentsAreNotJoinedBeyondIt) {
  const lowered_text_limit limit(1000);
  auto table = table_version::from(one_column(encoded_rows(10, 90)));
  for (int i = 0; i < 20; ++i) table = table->appended(one_column(encoded_rows(3, 90)));
  EXPECT_EQ(table->rows(), 70U);
  expect_within_limit(*table->data(0));
}

TEST(TextLimit, ArraysWithWrongOffsetsAreRefused) {
  const std::string text = "abcdefgh";
  // As an overflow leaves them: the first and the last are right.
  for (const std::vector<std::int32_t>& offsets :
       {std::vector<std::int32_t>{0, 6, -3, 8}, {0, 6, 3, 8}, {0, 5, 9, 8}}) {
    const auto rows = one_column(
        std::make_shared<arrow::StringArray>(3, arrow::Buffer::FromVector(offsets), arrow::Buffer::FromString(text)));
    EXPECT_THROW((void)table_version::from(rows), engine_error);
    const auto table = table_version::empty({{"s", {type_id::varchar}, true}});
    EXPECT_THROW((void)table->appended(rows), engine_error);
  }
}

}  // namespace
