// query_suite.cpp - see query_suite.hpp.
#include "bench/query/query_suite.hpp"

#include <arrow/util/thread_pool.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "bench/query/pair_figures.hpp"
#include "bench/query/targets.hpp"
#include "bench/runner.hpp"

namespace espalier::bench {
namespace {

constexpr const char* query_introduction =
    "# SQL over an indexed table\n\nFigures 8 to 13 of the paper (range selection, COUNT and SUM by the number of keys "
    "in "
    "a range, identical and non-identical key-value pairs), then what the engine has to reach. A statement is measured "
    "from its text to an Arrow table; answers are checked. The paper's GPU is not this one, its table has 2^15 rows, "
    "and "
    "it searches for every key of a range.\n\n";

struct query_part {
  const char* name;
  suite_part (*measure)(query_setting&);
};
constexpr std::array query_parts{
    query_part{"identical", [](query_setting& s) { return measure_pairs(s, pair_kind::identical); }},
    query_part{"non-identical", [](query_setting& s) { return measure_pairs(s, pair_kind::non_identical); }},
    query_part{"ranges", measure_ranges},
    query_part{"joins", measure_joins},
    query_part{"loads", measure_loads},
    query_part{"batches", measure_batches},
    query_part{"as-of", measure_large_as_of},
    query_part{"tpch", measure_tpch},
};

std::vector<std::string> query_part_names() {
  std::vector<std::string> names;
  for (const auto& part : query_parts) names.emplace_back(part.name);
  return names;
}

}  // namespace

void run_query_suite(const suite_options& what, std::ostream& out) {
  check_suite(what, std::uint64_t{1} << 10, most_query_rows);
  const std::vector<std::string> chosen = chosen_parts(what, query_part_names());
  static_cast<void>(choose_device(what.base));  // refuses a GPU that is not there
  const suite_folder folder(what.folder, query_introduction, query_part_names(), out);
  query_setting setting(what);
  // The engine works in the arena it is called in, and files are read by Arrow's own threads.
  static_cast<void>(arrow::SetCpuThreadPoolCapacity(static_cast<int>(setting.threads)));
  tbb::task_arena(static_cast<int>(setting.threads)).execute([&] {
    for (const auto& part : query_parts) {
      if (std::find(chosen.begin(), chosen.end(), part.name) != chosen.end())
        folder.save(part.name, part.measure(setting));
    }
  });
}

}  // namespace espalier::bench
