// sql.cpp - the installed query engine: an index answers, and rows are read through the Arrow that came with it.
#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include <cstdio>
#include <memory>
#include <string>

#include "espalier/engine/database.hpp"

int main() try {
  espalier::engine::database db({.device = espalier::device::cpu(2), .prefer_indexes = true});
  db.run_script(
      "CREATE TABLE t (k integer, v bigint); INSERT INTO t VALUES (1, 10), (2, 20), (3, 30), (9, 90);"
      "CREATE INDEX by_k ON t (k) INCLUDE (v);");
  const std::string plan = db.execute("EXPLAIN SELECT sum(v) FROM t WHERE k BETWEEN 2 AND 5").plan;
  const auto rows = db.execute("SELECT v FROM t WHERE k BETWEEN 2 AND 5 ORDER BY k").rows;
  const auto values = std::static_pointer_cast<arrow::Int64Array>(rows->column(0)->chunk(0));
  if (plan.find("by_k") == std::string::npos || values->length() != 2 || values->Value(0) != 20 ||
      values->Value(1) != 30) {
    std::fprintf(stderr, "%s\n%s\n", plan.c_str(), rows->ToString().c_str());
    return 1;
  }
  try {
    db.execute("SELECT nothing FROM t");
    return 1;
  } catch (const espalier::engine::sql_error& problem) {
    return problem.position() == 7u ? 0 : 1;
  }
} catch (const espalier::error& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
