// arrow_links_test.cpp - the Arrow that the build found works with this compiler: a Parquet file goes out and comes
// back.
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <gtest/gtest.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/writer.h>

#include <string>

#include "support/scratch_folder.hpp"

namespace {

std::shared_ptr<arrow::Table> numbers_and_names() {
  arrow::Int64Builder numbers;
  arrow::StringBuilder names;
  for (int i = 0; i < 10000; ++i) {
    EXPECT_TRUE((i % 7 == 0 ? numbers.AppendNull() : numbers.Append(i * 31)).ok());
    EXPECT_TRUE(names.Append("name " + std::to_string(i % 100)).ok());
  }
  const auto schema = arrow::schema({arrow::field("number", arrow::int64()), arrow::field("name", arrow::utf8())});
  return arrow::Table::Make(schema, {numbers.Finish().ValueOrDie(), names.Finish().ValueOrDie()});
}

TEST(ArrowLinks, ParquetFileGoesOutAndComesBack) {
  const espalier::test::scratch_folder folder;
  const std::string path = folder.file("numbers.parquet");
  const auto table = numbers_and_names();
  {
    const auto out = arrow::io::FileOutputStream::Open(path).ValueOrDie();
    ASSERT_TRUE(parquet::arrow::WriteTable(*table, arrow::default_memory_pool(), out, 1000).ok());
    ASSERT_TRUE(out->Close().ok());
  }
  const auto in = arrow::io::ReadableFile::Open(path).ValueOrDie();
  const auto reader = parquet::arrow::OpenFile(in, arrow::default_memory_pool()).ValueOrDie();
  const auto read = reader->ReadTable().ValueOrDie();
  EXPECT_TRUE(read->Equals(*table));
  EXPECT_EQ(reader->num_row_groups(), 10);
}

}  // namespace
