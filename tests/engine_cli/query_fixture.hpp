// query_fixture.hpp - a folder with a small table in it, and `espalier` asked about it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "cli/cli_fixture.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::cli_test {

class query_cli : public cli {
 protected:
  void SetUp() override {
    cli::SetUp();
    if (IsSkipped()) return;
    folder_ = std::make_unique<test::scratch_folder>();
    std::ofstream(file("fruit.csv")) << "id,name,price\n1,apple,0.5\n2,pear,0.75\n3,,1.25\n";
  }
  std::string file(const std::string& name) const { return folder_->file(name); }
  std::string db() const { return " --db " + file("db"); }

  /// Runs SQL on the CPU; the statement must not contain double quotes.
  outcome sql(const std::string& statement, const std::string& options = "") const {
    return run("sql --device cpu -c \"" + statement + "\" " + options);
  }
  std::string fruit() const { return "read_csv('" + file("fruit.csv") + "')"; }
  void make_fruit_table() const {
    const outcome r = run("import --device cpu " + file("fruit.csv") + db() + " --table fruit");
    ASSERT_EQ(r.code, 0) << r.err;
  }

 private:
  std::unique_ptr<test::scratch_folder> folder_;
};

}  // namespace espalier::cli_test
