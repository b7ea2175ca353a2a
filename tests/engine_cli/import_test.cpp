// import_test.cpp - `import` into a table that is there: nothing of a value or of a column's place is guessed.
#include <gtest/gtest.h>

#include <fstream>

#include "engine_cli/query_fixture.hpp"

namespace espalier::cli_test {
namespace {

TEST_F(query_cli, import_parses_with_the_types_of_the_table) {
  ASSERT_EQ(sql("CREATE TABLE z (code varchar, amount numeric(22,2))", db()).code, 0);
  std::ofstream(file("z.csv")) << "code,amount\n007,123456789012345678.91\n";
  const outcome r = run("import --device cpu " + file("z.csv") + db() + " --table z");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(sql("SELECT * FROM z", db() + " --format csv").out, "\"code\",\"amount\"\n\"007\",123456789012345678.91\n");
}

TEST_F(query_cli, import_matches_columns_by_name) {
  std::ofstream(file("p1.csv")) << "first,last\nAda,Lovelace\n";
  std::ofstream(file("p2.csv")) << "last,first\nHopper,Grace\n";
  std::ofstream(file("p3.csv")) << "last;-\n";
  std::ofstream(file("p4.csv")) << "first,family\nAda,Lovelace\n";
  ASSERT_EQ(run("import --device cpu " + file("p1.csv") + db() + " --table p").code, 0);
  ASSERT_EQ(run("import --device cpu " + file("p2.csv") + db() + " --table p").code, 0);
  const outcome bare =
      run("import --device cpu " + file("p3.csv") + db() + " --table p --no-header --delimiter ';' --null -");
  ASSERT_EQ(bare.code, 0) << bare.err;
  const outcome unknown = run("import --device cpu " + file("p4.csv") + db() + " --table p");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_NE(unknown.err.find("p4.csv' has a column 'family'"), std::string::npos) << unknown.err;
  EXPECT_EQ(sql("SELECT * FROM p", db() + " --format csv").out,
            "\"first\",\"last\"\n\"Ada\",\"Lovelace\"\n\"Grace\",\"Hopper\"\n\"last\",\n");
}

TEST_F(query_cli, copy_goes_by_position_and_refuses_another_order) {
  std::ofstream(file("p.csv")) << "last,first\nHopper,Grace\n";
  ASSERT_EQ(sql("CREATE TABLE p (first varchar, last varchar)", db()).code, 0);
  const std::string from = " FROM '" + file("p.csv") + "'";
  const outcome swapped = sql("COPY p" + from, db());
  EXPECT_EQ(swapped.code, 1);
  EXPECT_NE(swapped.err.find("another order"), std::string::npos) << swapped.err;
  EXPECT_EQ(sql("COPY p (last, first)" + from, db()).code, 0);
  EXPECT_EQ(sql("COPY p" + from + " (by_name)", db()).code, 0);
  EXPECT_EQ(sql("SELECT DISTINCT * FROM p", db() + " --format csv").out, "\"first\",\"last\"\n\"Grace\",\"Hopper\"\n");
}

}  // namespace
}  // namespace espalier::cli_test
