// damaged_index_test.cpp - commands on a database whose index has a damaged file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine_cli/query_fixture.hpp"

namespace espalier::cli_test {
namespace {

/// The one file of the database whose name begins so.
std::filesystem::path file_called(const std::string& database, const std::string& beginning) {
  std::filesystem::path found;
  for (const auto& entry : std::filesystem::directory_iterator(database)) {
    if (entry.path().filename().string().starts_with(beginning)) found = entry.path();
  }
  EXPECT_FALSE(found.empty()) << beginning;
  return found;
}

void flip_a_byte(const std::filesystem::path& path, std::streamoff at) {
  std::fstream bytes(path, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekg(at);
  const int before = bytes.get();
  bytes.seekp(at);
  bytes.put(static_cast<char>(before ^ 0x55));
}

TEST_F(query_cli, a_damaged_index_is_reported_and_built_anew) {
  make_fruit_table();
  ASSERT_EQ(sql("CREATE INDEX by_id ON fruit (id)", db()).code, 0);
  const auto cut = [](const std::filesystem::path& path) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  };
  const auto alter = [](const std::filesystem::path& path) { flip_a_byte(path, 64); };  // in the first section
  const auto remove = [](const std::filesystem::path& path) { std::filesystem::remove(path); };
  for (auto* const damage : {+cut, +alter, +remove}) {
    const auto damaged = file_called(file("db"), "index-");
    damage(damaged);
    for (int i = 0; i < 2; ++i) {  // looking does not mend
      const outcome verified = run("verify --device cpu " + file("db"));
      EXPECT_EQ(verified.code, 1);
      EXPECT_NE(verified.err.find(damaged.filename().string()), std::string::npos) << verified.err;
      EXPECT_NE(verified.err.find("the next command that uses the database rebuilds index 'by_id' of table "
                                  "'fruit'."),
                std::string::npos)
          << verified.err;
      EXPECT_EQ(verified.err.find("restore"), std::string::npos) << verified.err;
    }
    const outcome asked = sql("SELECT id FROM fruit WHERE id = 2", db() + " --format csv");
    EXPECT_EQ(asked.code, 0);
    EXPECT_EQ(asked.out, "\"id\"\n2\n");
    EXPECT_NE(asked.err.find("warning: "), std::string::npos) << asked.err;
    EXPECT_NE(asked.err.find(damaged.filename().string()), std::string::npos) << asked.err;
    EXPECT_EQ(run("verify --device cpu " + file("db")).code, 0);
    EXPECT_EQ(run("tables --device cpu" + db()).err, "");
  }
}

TEST_F(query_cli, damaged_rows_and_catalogs_are_named_as_verify_says) {
  make_fruit_table();
  for (const std::string name : {"rows-", "catalog"}) {
    const auto damaged = file_called(file("db"), name);
    flip_a_byte(damaged, static_cast<std::streamoff>(std::filesystem::file_size(damaged) / 2));
    const outcome verified = run("verify --device cpu " + file("db"));
    EXPECT_EQ(verified.code, 1);
    EXPECT_NE(verified.err.find("restore it from a copy, or load what it held into a new database."), std::string::npos)
        << verified.err;
    const outcome asked = sql("SELECT id FROM fruit WHERE id = 2", db());
    EXPECT_EQ(asked.code, 1);
    const auto sentence = verified.err.substr(std::string("espalier: ").size());
    EXPECT_NE(asked.err.find(sentence), std::string::npos) << asked.err;
    const outcome other = sql("CREATE TABLE other AS SELECT 1 AS one; SELECT one FROM other; DROP TABLE other", db());
    EXPECT_EQ(other.code, name == "rows-" ? 0 : 1) << "a damaged table does not lock out the others: " << other.err;
    flip_a_byte(damaged, static_cast<std::streamoff>(std::filesystem::file_size(damaged) / 2));
  }
  EXPECT_EQ(run("verify --device cpu " + file("db")).code, 0);
}

}  // namespace
}  // namespace espalier::cli_test
