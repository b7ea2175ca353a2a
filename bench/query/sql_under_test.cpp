// sql_under_test.cpp - see sql_under_test.hpp.
#include "bench/query/sql_under_test.hpp"

#include <arrow/table.h>
#include <fmt/format.h>

#include "bench/query/sql_timing.hpp"

namespace espalier::bench {

device device_of(device_choice where, unsigned threads) {
  return where == device_choice::gpu ? device::cuda() : device::cpu(threads);
}

const char* processor_name(device_choice where) { return where == device_choice::gpu ? "GPU" : "CPU"; }

sql_under_test::sql_under_test(device_choice where, unsigned threads)
    : db_({.path = {}, .device = device_of(where, threads)}) {}

double sql_under_test::seconds(const std::vector<std::string>& statements, unsigned repeat) {
  const stopwatch watch;
  static_cast<void>(ask(statements.front()));
  const double first = watch.seconds();
  return statement_seconds(statements.size(), first, repeat,
                           [&](std::size_t i) { static_cast<void>(ask(statements[i])); });
}

void sql_under_test::load(const std::string& table, const std::string& file) {
  run(fmt::format("CREATE TABLE {} AS SELECT * FROM read_parquet('{}')", table, file));
}

}  // namespace espalier::bench
