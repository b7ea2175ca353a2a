// software_pipeline.cpp - see software_pipeline.hpp.
#include "bench/papers/hb_plus_tree/software_pipeline.hpp"

#include <array>
#include <cstdint>
#include <span>

#include "bench/data/answers.hpp"
#include "bench/data/hybrid_data.hpp"
#include "bench/harness/runner.hpp"
#include "bench/harness/timing.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/static_tree/jobs.hpp"
#include "espalier/static_tree/run.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/scalar_team.hpp"

namespace espalier::bench {
namespace {

using word = std::uint64_t;
using finds = find_job<word, sizeof(word)>;

template <unsigned Length>
struct team_of_length : scalar_team {
  static constexpr unsigned batch = Length;
};

template <unsigned Length>
void find_with(const cpu_backend& threads, const finds& job, std::size_t n) {
  threads.for_each_chunk(
      n, 4096, [&](std::size_t first, std::size_t last) { runner<team_of_length<Length>>::run({}, job, first, last); });
}

struct pipeline_length {
  unsigned length;
  void (*find)(const cpu_backend&, const finds&, std::size_t);
};
constexpr std::array pipeline_lengths{pipeline_length{1, find_with<1>},   pipeline_length{2, find_with<2>},
                                      pipeline_length{4, find_with<4>},   pipeline_length{8, find_with<8>},
                                      pipeline_length{16, find_with<16>}, pipeline_length{32, find_with<32>},
                                      pipeline_length{64, find_with<64>}, pipeline_length{128, find_with<128>}};

row measure_length(const options& what, const workload& data, const query_set& queries, const answers& expected,
                   const static_tree<word, word>& tree, const pipeline_length& way) {
  const cpu_backend threads(tree.get_device());
  const answers out = columns_like(expected);
  for (const auto& c : out) c.poison();
  finds job;
  job.tree = tree.ref().layout();
  job.keys = queries.keys.data();
  job.values = out[0].data();
  job.found = out[1].as<std::uint8_t>().data();
  way.find(threads, job, queries.size());
  require_right(operation::find, data.spec, {&queries, nullptr}, out, expected);
  row r;
  r.device = "cpu";
  r.op = name_of(operation::find);
  r.keys = data.keys.size();
  r.queries = queries.size();
  r.key_type = name_of(data.spec.key);
  r.value_type = name_of(data.spec.value);
  r.distribution = name_of(data.spec.shape);
  r.threads = tree.get_device().threads();
  r.aggregates = name_in(aggregates_names, aggregates::none);
  r.location = "host";
  r.pipeline = way.length;
  r.seconds = median_seconds(what.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) way.find(threads, job, queries.size());
  });
  if (r.seconds > 0) r.rate = static_cast<double>(r.queries) / r.seconds;
  if (r.keys != 0) r.bytes_per_key = static_cast<double>(tree.stats().bytes) / static_cast<double>(r.keys);
  return r;
}

report run_lengths(const options& what, std::span<const pipeline_length> lengths) {
  report result = begin_report(what);
  const device host = device::cpu(static_cast<unsigned>(what.threads.front()));
  for (const auto n : what.keys) {
    const data_spec spec{scalar_kind::u64, scalar_kind::u64, distribution::uniform, n, what.seed};
    const workload data = make_hybrid_data(spec, 0).tree;
    const auto tree = static_tree<word, word>::build(data.keys.as<const word>(), data.values.as<const word>(),
                                                     {.sorted = true}, host);
    for (const auto asked : what.queries) {
      const query_set queries = make_requests(data, data.keys, asked, request_order::uniform, 1);
      const answers expected = expected_answers(operation::find, data, {&queries, nullptr});
      for (const auto& way : lengths) {
        result.rows.push_back(measure_length(what, data, queries, expected, tree, way));
      }
    }
  }
  return result;
}

}  // namespace

report run_software_pipelines(const options& what) { return run_lengths(what, pipeline_lengths); }

report run_without_software_pipeline(const options& what) {
  return run_lengths(what, std::span(pipeline_lengths).first(1));
}

}  // namespace espalier::bench
