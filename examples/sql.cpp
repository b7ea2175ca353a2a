// sql.cpp - tables, an index and SQL inside a program: count and sum of a range, an as-of join, many statements at
// once.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <cstdio>
#include <string>

#include "espalier/engine/database.hpp"

using espalier::engine::database;

int main() try {
  database db;  // in memory; database db({.path = "shop"}) stores it in a folder
  db.run_script(
      "CREATE TABLE trades (id integer PRIMARY KEY, symbol varchar, at timestamp, quantity integer);"
      "CREATE TABLE quotes (symbol varchar, at timestamp, price numeric(10,2));"
      "INSERT INTO trades VALUES (1, 'AA', '2026-01-05 09:00:03', 10), (2, 'BB', '2026-01-05 09:00:04', 20),"
      "                          (3, 'AA', '2026-01-05 09:00:09', 5), (4, 'CC', '2026-01-05 09:00:10', 1);"
      "INSERT INTO quotes VALUES ('AA', '2026-01-05 09:00:00', 100.25), ('AA', '2026-01-05 09:00:05', 100.5),"
      "                          ('BB', '2026-01-05 09:00:04', 7.75);"
      "CREATE INDEX by_symbol ON quotes (symbol, at);");

  // Find the price that was valid at each trade. The planner recognises an as-of join and queries the index once.
  const auto valued = db.execute(
      "SELECT t.id, t.quantity * q.price AS value FROM trades t LEFT JOIN LATERAL (SELECT price FROM quotes q WHERE "
      "q.symbol ="
      " t.symbol AND q.at <= t.at ORDER BY q.at DESC LIMIT 1) q ON true ORDER BY t.id");
  std::printf("%s\n", valued.rows->ToString().c_str());

  // Run the same query for many ranges in one call.
  auto totals = db.prepare("SELECT count(*), sum(quantity) FROM trades WHERE id BETWEEN $1 AND $2");
  arrow::Int32Builder from, to;
  if (!from.AppendValues({1, 2, 9}).ok() || !to.AppendValues({4, 3, 12}).ok()) return 1;
  const auto schema = arrow::schema({arrow::field("from", arrow::int32()), arrow::field("to", arrow::int32())});
  const auto ranges = arrow::Table::Make(schema, {*from.Finish(), *to.Finish()});
  std::printf("%s\n", totals.execute(*ranges).rows->ToString().c_str());

  // An error has its position in the statement.
  try {
    db.execute("SELECT sum(quantity) OVER () FROM trades");
  } catch (const espalier::engine::sql_error& problem) {
    std::printf("%s\n%s\n", problem.what(), problem.excerpt().c_str());
  }
  return valued.rows->num_rows() == 4 ? 0 : 1;
} catch (const espalier::error& problem) {
  std::fprintf(stderr, "%s\n", problem.what());
  return 1;
}
