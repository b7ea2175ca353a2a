// demo.cpp - `espalier demo`: ten million keys and four kinds of queries, compared with std::map and binary search;
// then SQL over orders.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/demo_run.hpp"
#include "bench/harness/options.hpp"
#include "cli/commands.hpp"
#ifdef ESPALIER_HAS_ENGINE
#include "cli/query/demo_sql.hpp"
#endif

namespace espalier::cli {

void add_demo(CLI::App& app, action& chosen) {
  auto* command =
      app.add_subcommand("demo", "Build an index of 10 million keys and compare it with std::map and binary search.");
  auto keys = std::make_shared<std::string>("10000000");
  command->add_option("--keys", *keys, "Keys in the index")->capture_default_str();
  command->footer("Example:\n  espalier demo --keys 1000000");
  command->callback([&chosen, keys] {
    chosen = [keys] {
      const std::uint64_t n = bench::parse_number("keys", *keys);
      if (n > 100'000'000) {
        throw bad_arguments("--keys: the demo fills a std::map, so give at most 100000000.");
      }
      bench::run_demo(n, std::cout);
#ifdef ESPALIER_HAS_ENGINE
      run_sql_demo(std::cout);
#endif
      return 0;
    };
  });
}

}  // namespace espalier::cli
