// query_suite.cpp - see query_suite.hpp.
#include "bench/query/query_suite.hpp"

#include <arrow/util/thread_pool.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bench/harness/runner.hpp"
#include "bench/query/targets.hpp"

namespace espalier::bench {
namespace {

constexpr const char* query_introduction =
    "# SQL over indexed tables: targets of the engine\n\nA statement is measured from its text to an Arrow table; "
    "answers are checked.\n\n";

constexpr std::array target_parts{
    query_part{"ranges", measure_ranges},     query_part{"joins", measure_joins},
    query_part{"loads", measure_loads},       query_part{"batches", measure_batches},
    query_part{"as-of", measure_large_as_of}, query_part{"tpch", measure_tpch},
};

std::vector<std::string> names_of(std::span<const query_part> parts) {
  std::vector<std::string> names;
  for (const auto& part : parts) names.emplace_back(part.name);
  return names;
}

}  // namespace

void run_query_parts(const suite_options& what, const char* introduction, std::span<const query_part> parts,
                     std::ostream& out) {
  check_suite(what, std::uint64_t{1} << 10, most_query_rows);
  const std::vector<std::string> chosen = chosen_parts(what, names_of(parts));
  static_cast<void>(choose_device(what.base));  // throws if there is no GPU
  const suite_folder folder(what.folder, introduction, names_of(parts), out);
  query_setting setting(what);
  // The engine uses the arena it is called in; files are read by Arrow's own threads.
  static_cast<void>(arrow::SetCpuThreadPoolCapacity(static_cast<int>(setting.threads)));
  tbb::task_arena(static_cast<int>(setting.threads)).execute([&] {
    for (const auto& part : parts) {
      if (std::find(chosen.begin(), chosen.end(), part.name) != chosen.end())
        folder.save(part.name, part.measure(setting));
    }
  });
}

void run_query_suite(const suite_options& what, std::ostream& out) {
  run_query_parts(what, query_introduction, target_parts, out);
}

}  // namespace espalier::bench
