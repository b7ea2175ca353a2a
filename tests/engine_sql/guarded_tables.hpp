// guarded_tables.hpp - two tables whose rows with x = 0 or z = 0 are reached, or not, by expressions that divide.
#pragma once

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "espalier/engine/database.hpp"

namespace espalier::engine {

enum class tested_path { plain, by_index, large };

class guarded_tables : public testing::TestWithParam<tested_path> {
 protected:
  guarded_tables() : db_(options()) {
    // Rows with x = 0 are excluded in some way by every statement of the tests that has an answer.
    db_.run_script(
        "CREATE TABLE l (id integer, k integer, t integer, z integer);"
        "INSERT INTO l VALUES (1, 1, 5, 2), (2, 1, 1, 0), (3, 2, 9, 4), (4, 3, 9, 0), (5, NULL, 9, 1);"
        "CREATE TABLE r (k integer, t integer, x integer, s varchar);"
        "INSERT INTO r VALUES (1, 2, 0, 'a'), (1, 3, 5, 'b'), (1, 4, 0, 'c'), (1, 8, 0, 'd'), (2, 3, 2, 'e'),"
        "  (2, 5, NULL, 'f'), (4, 1, 0, 'g'), (2, 99, 0, 'h');");
    if (GetParam() == tested_path::by_index) {
      db_.run_script(
          "CREATE INDEX r_t ON r (t); CREATE INDEX r_k ON r (k); CREATE INDEX r_k_t ON r (k, t);"
          "CREATE INDEX l_k ON l (k); CREATE INDEX l_t ON l (t)");
    }
    if (GetParam() == tested_path::large) {  // pipelines; the new rows meet nothing
      db_.run_script(
          "INSERT INTO l SELECT i + 100, 1000 + i, -i, 0 FROM generate_series(1, 70000) g(i);"
          "INSERT INTO r SELECT -i, 100 + i, 0, 'none' FROM generate_series(1, 90000) g(i)");
    }
  }

  static database_options options() {
    database_options out;
    out.device = device::cpu(2);
    out.prefer_indexes = GetParam() == tested_path::by_index;
    return out;
  }

  std::vector<std::string> answer(const std::string& sql) {
    const auto table = db_.execute(sql).rows;
    std::vector<std::string> out;
    for (std::int64_t row = 0; row < table->num_rows(); ++row) {
      std::string text;
      for (const auto& column : table->columns()) {
        const auto value = column->GetScalar(row).ValueOrDie();
        text += (text.empty() ? "" : " ") + (value->is_valid ? value->ToString() : std::string("-"));
      }
      out.push_back(text);
    }
    return out;
  }

  std::string state(const std::string& sql) {
    try {
      db_.execute(sql);
    } catch (const sql_error& e) {
      return std::string(e.sqlstate());
    }
    return "";
  }

  using rows = std::vector<std::string>;
  database db_;
};

inline std::string path_name(const testing::TestParamInfo<tested_path>& tested) {
  if (tested.param == tested_path::plain) return "plain";
  return tested.param == tested_path::by_index ? "by_index" : "large";
}

inline auto all_tested_paths() {
  return testing::Values(tested_path::plain, tested_path::by_index, tested_path::large);
}

}  // namespace espalier::engine
