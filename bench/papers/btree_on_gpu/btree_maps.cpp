// btree_maps.cpp - see btree_maps.hpp.
#include "bench/papers/btree_on_gpu/btree_maps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "bench/data/blink_data.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/parallel_tasks.hpp"
#include "bench/harness/timing.hpp"
#include "bench/index/blink/blink_script.hpp"
#include "bench/peers/ordered_map.hpp"

namespace espalier::bench {
namespace {

/// The number of searches that determine a map's rate; in larger maps they take seconds and exceed every cache.
constexpr std::size_t most_searches = std::size_t{1} << 20;

/// The input and the expected results of all maps of one data set.
struct map_task {
  explicit map_task(const data_spec& spec)
      : data(make_blink_data(spec, 0)),
        script(make_script(operation::insert_empty, data, spec.keys, request_order::in_order)),
        points(make_requests(data.tree, data.incoming_keys(), std::min<std::size_t>(spec.keys, most_searches),
                             request_order::in_order, 1)),
        expected(expected_answers(operation::find, data.tree, {&points, nullptr})) {}
  [[nodiscard]] const data_spec& spec() const { return data.tree.spec; }

  blink_data data;
  blink_script script;
  query_set points;
  answers expected;
};

double fill(const map_task& task, const map_runs& how, const std::string& name, ordered_map& map) {
  const blink_step& step = task.script.steps.front();
  const answers done = make_answers(step, task.spec());
  return median_of_runs(how.insertions, [&] {
    map.load({}, {});
    for (const auto& c : done) c.poison();
    const stopwatch watch;
    map.run(step, done);
    const double seconds = watch.seconds();
    if (auto wrong = wrong_step(step, task.spec(), done, name)) throw cli::wrong_answer("insert-empty: " + *wrong);
    return seconds;
  });
}

double search(const map_task& task, const map_runs& how, const std::string& name, ordered_map& map) {
  const answers found = columns_like(task.expected);
  for (const auto& c : found) c.poison();
  request ask;
  ask.keys = task.points.keys.data();
  ask.queries = task.points.size();
  for (std::size_t c = 0; c < found.size(); ++c) ask.out[c] = found[c].data();
  const stopwatch watch;
  map.ask(operation::find, ask);
  const double first = watch.seconds();
  if (auto wrong = difference(operation::find, task.spec(), {&task.points, nullptr}, task.expected, found, name,
                              task.points.size())) {
    throw cli::wrong_answer(*wrong);
  }
  return median_seconds_after(first, how.searches, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) map.ask(operation::find, ask);
  });
}

std::array<map_timing, 2> measure_map(const map_task& task, const map_runs& how, const std::string& name) {
  const auto map = make_ordered_map(name, task.spec(), 1);
  const data_spec& spec = task.spec();
  const double insertion = fill(task, how, name, *map);
  return {{{spec.shape, operation::insert_empty, spec.keys, {name, insertion, task.script.operations}},
           {spec.shape, operation::find, spec.keys, {name, search(task, how, name, *map), task.points.size()}}}};
}

/// Created by the first map that needs it, freed with the last.
class shared_task {
 public:
  explicit shared_task(const data_spec& spec) : spec_(spec) {}
  [[nodiscard]] const map_task& get() {
    std::call_once(made_, [&] { task_.emplace(spec_); });
    return *task_;
  }

 private:
  data_spec spec_;
  std::once_flag made_;
  std::optional<map_task> task_;
};

}  // namespace

std::vector<map_timing> measure_maps(const std::vector<data_spec>& sets, const map_runs& how) {
  // The largest sets are first, since they take longest.
  std::vector<data_spec> order = sets;
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.keys > b.keys; });
  std::vector<std::array<map_timing, 2>> timings(2 * order.size());
  tasks list;
  for (const auto& spec : order) {
    const auto shared = std::make_shared<shared_task>(spec);
    for (const char* name : {"std-map", "absl-btree"}) {
      auto& to = timings[list.size()];
      list.push_back([own = shared, name, &how, &to]() mutable {
        const auto task = std::exchange(own, nullptr);
        to = measure_map(task->get(), how, name);
      });
    }
  }
  run_parallel(list, how.at_once);
  std::vector<map_timing> all;
  for (const auto& of_map : timings) all.insert(all.end(), of_map.begin(), of_map.end());
  return all;
}

}  // namespace espalier::bench
