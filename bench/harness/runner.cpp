// runner.cpp - iterates over the axes: one data set per (key type or length, distribution, size), one index per thread
// count, one row per (operation, number of queries), and for the other trees per shape, batch, write path and query
// mode.
#include "bench/harness/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/data/hybrid_data.hpp"
#include "bench/harness/parallel_tasks.hpp"
#include "bench/harness/progress.hpp"
#include "bench/index/blink/blink_measurement.hpp"
#include "bench/index/blink/distribution_matrix.hpp"
#include "bench/index/hybrid/hybrid_measurement.hpp"
#include "bench/index/radix/radix_measurement.hpp"
#include "bench/index/static/static_measurement.hpp"

namespace espalier::bench {
device choose_device(const options& what) {
  if (what.dev == device_choice::cpu) return device::cpu();
  if (what.dev == device_choice::automatic) return device::default_device();
  try {
    return device::cuda();
  } catch (const error& e) {
    std::string reason = e.what();
    const std::string advice = "device::cpu()";  // the library's advice is for programs
    if (const auto at = reason.find(advice); at != std::string::npos) reason.replace(at, advice.size(), "--device cpu");
    throw cli::bad_arguments(fmt::format("--device gpu: {}", reason));
  }
}

namespace {

/// Returns the batch sizes of an operation: one if the keys or --batch determine it.
std::vector<std::uint64_t> sizes_of(operation op, const options& what) {
  const bool batch_given = what.index == index_kind::radix ? !what.radix.batches.empty() : what.blink.batch.has_value();
  const bool once = takes_no_queries(op) || op == operation::insert_empty || (takes_batch(op) && batch_given);
  return once ? std::vector<std::uint64_t>{0} : what.queries;
}

std::size_t rows_per_size(operation op, const options& what, device_kind dev) {
  if (what.index == index_kind::radix) return radix_variants(op, what, dev).size();
  if (what.index == index_kind::hybrid) return hybrid_rows(op, what);
  if (what.index != index_kind::blink) return 1;
  return what.blink.shapes.size() * (chooses_path(op) ? what.blink.paths.size() : 1);
}

std::uint64_t number_of(std::uint64_t queries, std::uint64_t keys) {
  if (queries == as_many_as_keys) return keys;
  if (queries != as_suits_the_keys) return queries;
  return std::clamp<std::uint64_t>(16 * keys, std::uint64_t{1} << 14, std::uint64_t{1} << 22);
}

/// Counts the rows for the progress bar.
std::size_t count_rows(const options& what, const std::vector<device>& devices) {
  if (!what.blink.batch_distributions.empty()) {
    return what.blink.batch_distributions.size() * what.blink.batches.size() * what.keys.size() *
           what.key_types.size() * devices.size();
  }
  std::size_t per_index = 0;
  for (const auto op : what.operations) {
    per_index += sizes_of(op, what).size() * rows_per_size(op, what, devices.front().kind());
  }
  const std::size_t data_sets =
      what.key_types.size() * what.distributions.size() + what.byte_data_sets.size() * what.long_keys.size();
  const std::size_t hosts = what.index == index_kind::hybrid ? what.threads.size() : devices.size();
  return per_index * what.keys.size() * data_sets * hosts;
}

class bench_run {
 public:
  explicit bench_run(const options& what) : what_(what) {
    const device chosen = choose_device(what);
    if (chosen.kind() == device_kind::cpu) {
      for (const auto threads : what.threads) devices_.push_back(device::cpu(static_cast<unsigned>(threads)));
    } else {
      if (what.search) throw cli::bad_arguments("--node-search is for --device cpu.");
      devices_.push_back(chosen);
    }
    if (what.index == index_kind::blink) require_shapes();
    bar_.emplace(count_rows(what, devices_));
    result_ = begin_report(what);
    bar_->say("copy bandwidth");
    result_.copy_bandwidth = measure_copy_bandwidth(devices_.front(), what.repeat);
  }

  report run() {
    for (const auto key : what_.key_types) {
      for (const auto shape : what_.distributions) {
        for (const auto n : what_.keys) run_data({key, value_of(key), shape, n, what_.seed});
      }
    }
    run_strings();
    bar_->clear();
    return std::move(result_);
  }

 private:
  [[nodiscard]] scalar_kind value_of(scalar_kind key) const {
    return what_.value_type.value_or(bytes_of(key) == 4 ? scalar_kind::u32 : scalar_kind::u64);
  }

  /// Checks the shapes before data are generated that could not be measured.
  void require_shapes() const {
    for (const auto key : what_.key_types) {
      for (const auto& shape : what_.blink.shapes) {
        const blink_under_test probe(devices_.front(), {key, value_of(key)}, shape, what_.blink.fill);
      }
    }
  }

  void run_data(const data_spec& spec) {
    about_ = fmt::format("{} {} {} keys", size_text(spec.keys), name_of(spec.shape), name_of(spec.key));
    bar_->say("generating " + about_);
    if (!what_.blink.batch_distributions.empty()) return run_distributions(spec);
    if (what_.index == index_kind::blink) return run_blink(spec);
    what_.index == index_kind::hybrid ? run_hybrid(spec) : run_static(spec);
  }

  void run_static(const data_spec& spec) {
    const workload data = make_workload(spec);
    for (const auto& dev : devices_) {
      bar_->say("preparing " + about_);
      static_measurement m(what_, data, dev, result_.copy_bandwidth);
      for_each_batch(spec.keys,
                     [&](operation op, std::uint64_t queries) { result_.rows.push_back(m.measure(op, queries)); });
    }
  }

  void run_blink(const data_spec& spec) {
    const blink_data data = make_blink_data(spec, fresh_for(spec.keys));
    for (const auto& dev : devices_) {
      bar_->say("preparing " + about_);
      blink_measurement m(what_, data, dev, result_.copy_bandwidth);
      for_each_batch(spec.keys, [&](operation op, std::uint64_t queries) {
        for (auto& r : m.measure(op, queries)) result_.rows.push_back(std::move(r));
      });
    }
  }

  void run_distributions(const data_spec& spec) {
    for (const auto& dev : devices_) {
      for (auto& r : measure_distributions(what_, spec, dev, [&](const std::string& next) {
             bar_->say(next);
             bar_->step();
           })) {
        result_.rows.push_back(std::move(r));
      }
    }
  }

  void run_hybrid(const data_spec& spec) {
    const blink_data data = make_hybrid_data(spec, fresh_for(spec.keys));
    for (std::size_t t = 0; t < what_.threads.size(); ++t) {
      bar_->say("preparing " + about_);
      // A GPU is combined with every number of host threads.
      const device& dev = devices_[std::min(t, devices_.size() - 1)];
      hybrid_measurement m(what_, data, dev, static_cast<unsigned>(what_.threads[t]));
      for_each_batch(spec.keys, [&](operation op, std::uint64_t queries) {
        for (auto& r : m.measure(op, queries)) result_.rows.push_back(std::move(r));
      });
    }
  }

  /// A data set of byte strings, with the maps that are compared with its trees.
  struct string_set {
    byte_spec spec;
    std::uint64_t keys = 0;
    std::vector<std::string> wanted = {};
    std::unique_ptr<const radix_data> data = nullptr;
    std::optional<string_maps> maps = {};
    /// Estimates the memory during the measurement: the text of a key, its value and offset, and a map node with its
    /// own copy.
    [[nodiscard]] double bytes() const {
      const double text = spec.key_length == 0 ? 64 : spec.key_length;
      return static_cast<double>(keys) * (text + 16 + static_cast<double>(wanted.size()) * (text + 100));
    }
  };

  void run_strings() {
    std::vector<string_set> sets;
    for (const auto& spec : what_.byte_data_sets) {
      for (const auto n : what_.keys) {
        sets.push_back({spec, n, radix_peers::maps_wanted(what_, devices_.front().kind(), n)});
      }
    }
    // As many sets are processed together as fit a part of the memory; one if there are no maps to fill.
    const double room = static_cast<double>(result_.dev.memory) / 4;
    for (auto first = sets.begin(); first != sets.end();) {
      auto last = first;
      double bytes = 0;
      do bytes += (last++)->bytes();
      while (last != sets.end() && !first->wanted.empty() && bytes + last->bytes() <= room);
      run_strings(std::span(first, last));
      first = last;
    }
  }
  void run_strings(std::span<string_set> sets) {
    for (auto& set : sets) {
      bar_->say("generating " + text_of(set));
      set.data = std::make_unique<const radix_data>(set.spec, set.keys);
      set.maps.emplace(*set.data, set.wanted);
    }
    bar_->say("filling maps");
    run_parallel(tasks_of(sets, &string_maps::filling), cores());
    for (const auto& set : sets) run_radix(set);
    run_parallel(tasks_of(sets, &string_maps::freeing), cores());
    for (auto& set : sets) set.data.reset();
  }
  /// Tasks of the largest sets are first, since they take longest.
  static tasks tasks_of(std::span<string_set> sets, tasks (string_maps::*what)()) {
    std::vector<string_set*> order;
    for (auto& set : sets) order.push_back(&set);
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->keys > b->keys; });
    tasks list;
    for (auto* set : order) {
      for (auto& task : ((*set->maps).*what)()) list.push_back(std::move(task));
    }
    return list;
  }
  [[nodiscard]] static std::string text_of(const string_set& set) {
    return fmt::format("{} {} of {} bytes", size_text(set.keys), name_of(set.spec.shape),
                       set.spec.key_length == 0 ? "any" : std::to_string(set.spec.key_length));
  }

  void run_radix(const string_set& set) {
    about_ = text_of(set);
    for (const auto& dev : devices_) {
      for (const auto way : what_.long_keys) {
        bar_->say("preparing " + about_);
        radix_measurement m(what_, *set.data, *set.maps, dev, way);
        for_each_batch(set.keys, [&](operation op, std::uint64_t queries) {
          for (auto& r : m.measure(op, queries)) result_.rows.push_back(std::move(r));
        });
      }
    }
  }

  [[nodiscard]] std::uint64_t fresh_for(std::uint64_t keys) const {
    std::uint64_t most = 0;
    for (const auto op : what_.operations) {
      for (const auto queries : sizes_of(op, what_)) {
        const std::uint64_t n = number_of(queries, keys);
        most = std::max(most, fresh_needed(op, n, what_.blink.batch.value_or(n)));
      }
    }
    return most;
  }

  template <class F>
  void for_each_batch(std::uint64_t keys, const F& f) {
    for (const auto op : what_.operations) {
      for (const auto queries : sizes_of(op, what_)) {
        bar_->say(fmt::format("{}, {}", name_of(op), about_));
        f(op, number_of(queries, keys));
        bar_->step(rows_per_size(op, what_, devices_.front().kind()));
      }
    }
  }

  const options& what_;
  std::vector<device> devices_;
  std::optional<progress> bar_;
  std::string about_;
  report result_;
};

}  // namespace

report run_benchmarks(const options& what) { return bench_run(what).run(); }

report begin_report(const options& what) {
  report r;
  r.dev = describe_machine();
  r.command = what.command;
  r.date = utc_now();
  r.seed = what.seed;
  r.repeat = what.repeat;
  return r;
}

}  // namespace espalier::bench
