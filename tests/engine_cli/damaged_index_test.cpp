// damaged_index_test.cpp - commands on a database whose index has a damaged file.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "engine_cli/query_fixture.hpp"

namespace espalier::cli_test {
namespace {

TEST_F(query_cli, a_damaged_index_is_reported_and_built_anew) {
  make_fruit_table();
  ASSERT_EQ(sql("CREATE INDEX by_id ON fruit (id)", db()).code, 0);
  std::string damaged;
  for (const auto& entry : std::filesystem::directory_iterator(file("db"))) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("index-")) continue;
    damaged = name;
    std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
  }
  ASSERT_NE(damaged, "");
  for (int i = 0; i < 2; ++i) {  // looking does not mend
    const outcome verified = run("verify --device cpu " + file("db"));
    EXPECT_EQ(verified.code, 1);
    EXPECT_NE(verified.err.find(damaged), std::string::npos) << verified.err;
  }
  const outcome asked = sql("SELECT id FROM fruit WHERE id = 2", db() + " --format csv");
  EXPECT_EQ(asked.code, 0);
  EXPECT_EQ(asked.out, "\"id\"\n2\n");
  EXPECT_NE(asked.err.find("warning: "), std::string::npos) << asked.err;
  EXPECT_NE(asked.err.find(damaged), std::string::npos) << asked.err;
  EXPECT_EQ(run("verify --device cpu " + file("db")).code, 0);
  EXPECT_EQ(run("tables --device cpu" + db()).err, "");
}

}  // namespace
}  // namespace espalier::cli_test
