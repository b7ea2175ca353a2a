// runner.cpp - the axes: one set of data per (key type, distribution, size), one index per thread count, one row per
// (operation, number of queries).
#include "bench/runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/measurement.hpp"
#include "bench/progress.hpp"

namespace espalier::bench {
namespace {

device choose_device(const options& what) {
  if (what.where == device_choice::cpu) return device::cpu();
  if (what.where == device_choice::automatic) return device::best();
  try {
    return device::cuda();
  } catch (const error& e) {
    throw bad_arguments(fmt::format("--device gpu: {}", e.what()));
  }
}

std::size_t count_rows(const options& what, std::size_t devices) {
  std::size_t per_index = 0;
  for (const auto op : what.operations) per_index += takes_no_queries(op) ? 1 : what.queries.size();
  return per_index * what.keys.size() * what.key_types.size() * what.distributions.size() * devices;
}

class bench_run {
 public:
  explicit bench_run(const options& what) : what_(what) {
    const device chosen = choose_device(what);
    if (chosen.kind() == device_kind::cpu) {
      for (const auto threads : what.threads) devices_.push_back(device::cpu(static_cast<unsigned>(threads)));
    } else {
      if (what.search) throw bad_arguments("--node-search is for --device cpu.");
      devices_.push_back(chosen);
    }
    bar_.emplace(count_rows(what, devices_.size()));
    result_.where = describe_machine();
    result_.command = what.command;
    result_.date = utc_now();
    result_.seed = what.seed;
    result_.repeat = what.repeat;
    bar_->say("copy bandwidth");
    result_.copy_bandwidth = measure_copy_bandwidth(devices_.front());
  }

  report run() {
    for (const auto key : what_.key_types) {
      for (const auto shape : what_.distributions) {
        for (const auto n : what_.keys) run_data({key, value_of(key), shape, n, what_.seed});
      }
    }
    bar_->clear();
    return std::move(result_);
  }

 private:
  [[nodiscard]] scalar_kind value_of(scalar_kind key) const {
    return what_.value_type.value_or(bytes_of(key) == 4 ? scalar_kind::u32 : scalar_kind::u64);
  }

  void run_data(const data_spec& spec) {
    const std::string about =
        fmt::format("{} {} {} keys", size_text(spec.keys), name_of(spec.shape), name_of(spec.key));
    bar_->say("generating " + about);
    const workload data = make_workload(spec);
    for (const auto& where : devices_) {
      bar_->say("preparing " + about);
      measurement m(what_, data, where, result_.copy_bandwidth);
      for (const auto op : what_.operations) run_operation(m, op, about);
    }
  }

  void run_operation(measurement& m, operation op, const std::string& about) {
    const std::vector<std::uint64_t> once{0};
    for (const auto queries : takes_no_queries(op) ? once : what_.queries) {
      bar_->say(fmt::format("{}, {}", name_of(op), about));
      result_.rows.push_back(m.measure(op, queries));
      bar_->step();
    }
  }

  const options& what_;
  std::vector<device> devices_;
  std::optional<progress> bar_;
  report result_;
};

}  // namespace

report run_benchmarks(const options& what) { return bench_run(what).run(); }

}  // namespace espalier::bench
