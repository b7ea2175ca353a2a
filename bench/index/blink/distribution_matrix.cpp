// distribution_matrix.cpp - see distribution_matrix.hpp.
#include "bench/index/blink/distribution_matrix.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "bench/data/batch_layout.hpp"
#include "bench/data/blink_data.hpp"
#include "bench/data/generators.hpp"
#include "bench/harness/device_array.hpp"
#include "bench/harness/timing.hpp"
#include "bench/index/blink/blink_under_test.hpp"
#include "bench/peers/ordered_map.hpp"
#include "bench/peers/peer.hpp"

namespace espalier::bench {
namespace {

/// A run that is expected to take longer, by the rate of the last smaller batch, is omitted.
constexpr double most_seconds_of_a_run = 5;
/// A shorter run predicts nothing: the scheduler of a busy machine may take milliseconds of it.
constexpr double fewest_seconds_that_predict = 0.1;

template <class KeyAt>
column make_column(scalar_kind key, std::uint64_t n, const KeyAt& key_at) {
  column keys(key, n);
  with_built_type(key, [&]<class Key>() {
    const auto to = keys.as<Key>();
    parallel_indices(n, [&](std::uint64_t i) { to[i] = static_cast<Key>(key_at(i)); });
  });
  return keys;
}

/// Pairs on the host and in memory that the device reads.
struct device_pairs {
  column keys, values;
  device_column device_keys, device_values;

  device_pairs(column all, const data_spec& spec, const device& dev)
      : keys(std::move(all)), values(values_of(keys, spec, 0)), device_keys(keys, dev), device_values(values, dev) {}
  [[nodiscard]] std::size_t size() const { return keys.size(); }
};

/// A batch, and memory for its results.
struct device_batch {
  batch_distribution which;
  device_pairs pairs;
  device_answers done;   ///< for writes
  device_answers found;  ///< values, and whether they were found

  device_batch(batch_distribution lying, column keys, const data_spec& spec, const device& dev)
      : which(lying),
        pairs(std::move(keys), spec, dev),
        done({column(scalar_kind::u8, pairs.size())}, dev),
        found({column(spec.value, pairs.size()), column(scalar_kind::u8, pairs.size())}, dev) {}
  [[nodiscard]] std::size_t size() const { return pairs.size(); }
};

class matrix_of_tree {
 public:
  matrix_of_tree(const options& what, const data_spec& spec, const device& dev)
      : what_(what),
        spec_(spec),
        device_(dev),
        layout_(spec.key, spec.keys, spec.seed),
        elements_(make_column(spec.key, spec.keys, [&](std::uint64_t i) { return layout_.tree_key(i); }), spec, dev),
        tree_(dev, spec, what.blink.shapes.front(), what.blink.fill) {}

  /// Adds the rows of one batch.
  void measure(batch_distribution which, std::uint64_t size, std::vector<row>& rows) {
    const batch_keys keys(layout_, which, size);
    const device_batch batch(which, make_column(spec_.key, size, keys), spec_, device_);
    for (const auto op : what_.operations) {
      const std::size_t first = rows.size();
      if (op == operation::insert_by_ref) {
        rows.push_back(measure(op, write_path::per_key, batch));
        continue;
      }
      for (const auto path : what_.blink.paths) rows.push_back(measure(op, path, batch));
      const std::span<row> measured(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end());
      compare_paths(measured);
      if (op == operation::insert) add_peers(batch, measured);
    }
  }

 private:
  [[nodiscard]] row empty_row(operation op, write_path path, const device_batch& batch) const {
    const bool gpu = device_.kind() == device_kind::cuda;
    row r;
    r.index = "blink";
    r.device = gpu ? "gpu" : "cpu";
    r.op = name_of(op);
    r.keys = spec_.keys;
    r.queries = batch.size();
    r.key_type = name_of(spec_.key);
    r.value_type = name_of(spec_.value);
    r.distribution = name_of(batch.which);
    r.threads = device_.threads();
    r.aggregates = name_in(aggregates_names, aggregates::none);
    r.location = gpu ? "device" : "host";
    r.blink.emplace();
    r.blink->policy = name_in(protocol_names, tree_.shape().protocol);
    r.blink->upper = name_in(upper_names, tree_.shape().inner);
    r.blink->slots = tree_.shape().slots;
    r.blink->repeat = what_.write_repeat;
    r.blink->path = op == operation::insert_by_ref ? "ref" : name_in(path_names, path);
    r.blink->batch_distribution = r.distribution;
    return r;
  }

  [[nodiscard]] row measure(operation op, write_path path, const device_batch& batch) {
    row r = empty_row(op, path, batch);
    if (op == operation::insert_by_ref && !tree_.inserts_by_ref()) {
      r.notes.push_back(
          "insert-by-ref: left out, its kernel is compiled for GPUs, u32 and u64 keys, values of their size "
          "and the default shape");
      return r;
    }
    double& seconds_of_a_key = last_[{op, path, batch.which}];
    const double expected = seconds_of_a_key * static_cast<double>(batch.size());
    if (expected > most_seconds_of_a_run) {
      r.notes.push_back(
          fmt::format("{} {} of {} keys into {}, {}: left out, about {:.0f} s at the rate of the last batch",
                      r.distribution, r.op, size_text(r.queries), size_text(r.keys), r.blink->path, expected));
      return r;
    }
    const double first = run_once(op, path, batch, true, &r);
    // The first run brings memory pools to their size; a long run is hardly faster when it is repeated.
    std::vector<double> seconds;
    if (first >= long_timing) seconds.push_back(first);
    while (seconds.empty() || (first < long_timing && seconds.size() < what_.write_repeat)) {
      seconds.push_back(run_once(op, path, batch, false, nullptr));
    }
    r.seconds = median(std::move(seconds));
    r.rate = r.seconds > 0 ? static_cast<double>(batch.size()) / r.seconds : 0;
    if (r.seconds >= fewest_seconds_that_predict) seconds_of_a_key = r.seconds / static_cast<double>(batch.size());
    return r;
  }

  /// Returns the seconds of one run, whose result is checked if requested. Properties of the tree are stored in `r`.
  double run_once(operation op, write_path path, const device_batch& batch, bool checked, row* r) {
    tree_.build(elements_.device_keys.data(), elements_.device_values.data(), elements_.size());
    if (op == operation::erase) write(write_op::insert, write_path::automatic, batch);
    const write_op way = op == operation::erase ? write_op::erase : write_op::insert;
    if (r != nullptr) r->blink->chosen = name_in(path_names, tree_.path_of(way, batch.size(), {.path = path}));
    if (checked) batch.done.poison();
    device_.default_stream().synchronize();
    const double seconds = op == operation::insert_by_ref ? insert_by_ref(batch) : timed_write(way, path, batch);
    if (checked) check(op, r->blink->path, batch);
    if (r != nullptr) {
      const blink_stats stats = tree_.stats();
      if (stats.size != 0) r->bytes_per_key = static_cast<double>(stats.bytes) / static_cast<double>(stats.size);
    }
    return seconds;
  }

  double timed_write(write_op op, write_path path, const device_batch& batch) {
    const stopwatch watch;
    write(op, path, batch);
    return watch.seconds();
  }
  double insert_by_ref(const device_batch& batch) {
    return tree_.insert_by_ref(batch.pairs.device_keys.data(), batch.pairs.device_values.data(), batch.size(),
                               static_cast<std::uint8_t*>(batch.done.pointers()[0]));
  }
  void write(write_op op, write_path path, const device_batch& batch) {
    tree_.write(op, batch.pairs.device_keys.data(), batch.pairs.device_values.data(), batch.size(),
                static_cast<std::uint8_t*>(batch.done.pointers()[0]), {.path = path});
  }

  void check(operation op, const std::string& path, const device_batch& batch) {
    const auto require = [&](bool right, const std::string& problem) {
      if (right) return;
      throw cli::wrong_answer(fmt::format("{}, {}, {} of {} keys into {}: {}", name_of(op), path, name_of(batch.which),
                                          batch.size(), elements_.size(), problem));
    };
    const bool inserted = op != operation::erase;
    const auto done = batch.done.fetch()[0].as<const std::uint8_t>();
    require(all(batch.size(), [&](std::uint64_t i) { return done[i] == 1; }),
            "not all keys say that they were written.");
    const std::uint64_t size = tree_.stats().size, right = elements_.size() + (inserted ? batch.size() : 0);
    require(size == right, fmt::format("the tree has {} keys afterwards, but must have {}.", size, right));
    batch.found.poison();
    request ask{batch.pairs.device_keys.data(), nullptr, batch.size(), batch.found.pointers(), 0, {}, true,
                device_.default_stream()};
    tree_.ask(operation::find, ask);
    const answers& found = batch.found.fetch();
    const auto there = found[1].as<const std::uint8_t>();
    require(all(batch.size(),
                [&](std::uint64_t i) {
                  return inserted ? there[i] == 1 && same_element(found[0], i, batch.pairs.values, i) : there[i] == 0;
                }),
            inserted ? "a key or its value is not found." : "a key is still there.");
    if (size > most_validated_keys) return;
    const validation v = tree_.validate();
    require(static_cast<bool>(v), "the tree is not valid afterwards: " + v.problem);
  }
  template <class Right>
  [[nodiscard]] static bool all(std::uint64_t n, const Right& right) {
    std::atomic<bool> yes{true};
    parallel_indices(n, [&](std::uint64_t i) {
      if (!right(i)) yes.store(false, std::memory_order_relaxed);
    });
    return yes;
  }

  /// Computes the rate of the automatic path relative to that of the better measured one.
  static void compare_paths(std::span<row> rows) {
    const auto automatic = name_in(path_names, write_path::automatic);
    double better = 0;
    for (const auto& r : rows) {
      if (r.blink->path != automatic) better = std::max(better, r.rate);
    }
    for (auto& r : rows) {
      if (r.blink->path == automatic && better > 0) r.blink->of_better_path = r.rate / better;
    }
  }

  /// Measures maps in one thread, with the correct hint if it is the same for the whole batch.
  void add_peers(const device_batch& batch, std::span<row> rows) const {
    for (const auto& name : what_.peers) {
      if (!what_.peers_named && name != "absl-btree") continue;
      const peer_choice choice = choose_peer(what_, name, what_.index, device_.kind(), spec_.keys + batch.size());
      if (!choice.note.empty()) rows.front().notes.push_back(choice.note);
      if (!choice.measured) continue;
      // The tree's memory pool keeps freed memory, so that its runs get pages that the system has cleared before.
      // malloc has to do the same: a map took twice as long when its pages were returned between the runs.
      mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
      const auto map = make_ordered_map(name, spec_, 1);
      const double seconds = median_of_runs(what_.write_repeat, [&] { return run_map(*map, name, batch); });
      for (auto& r : rows) {
        if (r.seconds > 0) r.peers.push_back({name, seconds, batch.size(), seconds / r.seconds});
      }
    }
  }
  [[nodiscard]] double run_map(ordered_map& map, const std::string& name, const device_batch& batch) const {
    const auto& [keys, values] = std::tie(batch.pairs.keys, batch.pairs.values);
    blink_step one_by_one;
    one_by_one.keys = keys;
    one_by_one.values = values;
    const answers done = make_answers(one_by_one, spec_);
    map.load({}, {});
    map.insert_at_end(elements_.keys, elements_.values);
    const stopwatch watch;
    if (batch.which == batch_distribution::append_sorted) {
      map.insert_at_end(keys, values);
    } else if (batch.which == batch_distribution::descending) {
      map.insert_at_begin(keys, values);
    } else {
      map.run(one_by_one, done);
    }
    const double seconds = watch.seconds();
    if (map.size() != elements_.size() + batch.size()) {
      throw cli::wrong_answer(fmt::format("insert: {} has {} keys afterwards.", name, map.size()));
    }
    return seconds;
  }

  const options& what_;
  data_spec spec_;
  device device_;
  batch_layout layout_;
  device_pairs elements_;
  blink_under_test tree_;
  std::map<std::tuple<operation, write_path, batch_distribution>, double> last_;  ///< seconds per key
};

}  // namespace

std::vector<row> measure_distributions(const options& what, const data_spec& spec, const device& dev,
                                       const std::function<void(const std::string&)>& say) {
  matrix_of_tree matrix(what, spec, dev);
  std::vector<row> rows;
  for (const auto which : what.blink.batch_distributions) {
    for (const auto batch : what.blink.batches) {
      say(fmt::format("{}, {} {} keys into {}", name_of(which), size_text(batch), name_of(spec.key),
                      size_text(spec.keys)));
      matrix.measure(which, batch, rows);
    }
  }
  return rows;
}

}  // namespace espalier::bench
