// blink_measurement.cpp - see blink_measurement.hpp.
#include "bench/index/blink/blink_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/data/range_rows.hpp"
#include "bench/harness/timing.hpp"
#include "bench/harness/visit_timing.hpp"
#include "bench/index/blink/blink_visitor.hpp"
#include "bench/index/memory_traffic.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint64_t blink_range_length = 32;

/// Returns the write paths of an operation, each of which becomes a row.
std::vector<write_path> paths_of(operation op, const options& what) {
  if (chooses_path(op)) return what.blink.paths;
  const bool bulk = op == operation::insert_bulk || op == operation::erase_bulk;
  return {bulk ? write_path::bulk : write_path::automatic};
}

}  // namespace

blink_measurement::blink_measurement(const options& what, const blink_data& data, device dev, double copy_bandwidth)
    : what_(what),
      data_(data),
      device_(std::move(dev)),
      copy_bandwidth_(copy_bandwidth),
      peers_(what, data, device_),
      keys_(data.tree.keys, device_),
      values_(data.tree.values, device_) {}

std::vector<row> blink_measurement::measure(operation op, std::uint64_t queries) {
  if (op == operation::build) return measure_build();
  if (op == operation::snapshot) return measure_snapshot();
  if (op == operation::visit) return measure_visit();
  return writes(op) ? measure_writes(op, queries) : measure_questions(op, queries);
}

row blink_measurement::empty_row(operation op, const blink_under_test& tree) const {
  row r;
  r.index = "blink";
  r.device = is_gpu() ? "gpu" : "cpu";
  r.op = name_of(op);
  r.keys = data_.tree.keys.size();
  r.key_type = name_of(spec().key);
  r.value_type = name_of(spec().value);
  r.distribution = name_of(spec().shape);
  r.threads = device_.threads();
  r.aggregates = name_in(aggregates_names, aggregates::none);
  r.location = is_gpu() ? "device" : "host";
  r.blink.emplace();
  r.blink->policy = name_in(protocol_names, tree.shape().protocol);
  r.blink->upper = name_in(upper_names, tree.shape().inner);
  r.blink->slots = tree.shape().slots;
  r.blink->repeat = writes(op) ? what_.write_repeat : what_.repeat;
  return r;
}

blink_under_test blink_measurement::make_tree(const blink_shape& shape) const {
  return blink_under_test(device_, spec(), shape, what_.blink.fill);
}

void blink_measurement::load(blink_under_test& tree) const {
  tree.build(keys_.data(), values_.data(), data_.tree.keys.size());
}

void blink_measurement::finish_row(operation op, std::uint64_t work, const blink_stats& tree, row& r) const {
  if (r.seconds > 0) r.rate = static_cast<double>(work) / r.seconds;
  if (tree.size != 0) r.bytes_per_key = static_cast<double>(tree.bytes) / static_cast<double>(tree.size);
  const auto bytes = least_memory_traffic(op, r, spec().key, spec().value, tree.leaves * tree.node_bytes);
  if (bytes && copy_bandwidth_ > 0 && r.seconds > 0) r.bandwidth_share = *bytes / r.seconds / copy_bandwidth_;
}

std::vector<row> blink_measurement::measure_build() const {
  std::vector<row> rows;
  for (const auto& shape : what_.blink.shapes) {
    blink_under_test tree = make_tree(shape);
    row& r = rows.emplace_back(empty_row(operation::build, tree));
    load(tree);
    if (tree.stats().size != r.keys)
      throw cli::wrong_answer(fmt::format("build: the tree has {} keys.", tree.stats().size));
    if (r.keys <= most_validated_keys) {
      if (const validation v = tree.validate(); !v)
        throw cli::wrong_answer("build: the tree is not valid: " + v.problem);
    }
    r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) load(tree);
    });
    finish_row(operation::build, r.keys, tree.stats(), r);
  }
  peers_.add_build(rows);
  return rows;
}

/// Measures a snapshot of all elements as a static tree. Writes of the owner wait while it is taken.
std::vector<row> blink_measurement::measure_snapshot() const {
  std::vector<row> rows;
  for (const auto& shape : what_.blink.shapes) {
    blink_under_test tree = make_tree(shape);
    row& r = rows.emplace_back(empty_row(operation::snapshot, tree));
    load(tree);
    if (const std::uint64_t n = tree.snapshot(); n != r.keys)
      throw cli::wrong_answer(fmt::format("snapshot: it has {} keys, and the tree {}.", n, r.keys));
    r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) static_cast<void>(tree.snapshot());
    });
    finish_row(operation::snapshot, r.keys, tree.stats(), r);
  }
  return rows;
}

std::vector<row> blink_measurement::measure_visit() const {
  const blink_pairs pairs{device_, {what_.blink.fill}, keys_.data(), values_.data(), data_.tree.keys.size()};
  const std::uint64_t right = checksum_of(data_.tree);
  std::vector<row> rows;
  for (const auto& shape : what_.blink.shapes) {
    row& r = rows.emplace_back(empty_row(operation::visit, make_tree(shape)));
    const auto tree = make_blink_visitor(spec(), shape, pairs);
    if (tree == nullptr) {
      r.notes.push_back(fmt::format("visit: skipped, not compiled for these types and this shape on a {} ({})",
                                    r.device, visited_blink_trees(device_.kind())));
      continue;
    }
    r.seconds = seconds_of_visit("the tree", right, what_.repeat, [&] { return tree->visit(); });
    finish_row(operation::visit, r.keys, tree->stats(), r);
  }
  peers_.add_visit(rows);
  return rows;
}

// ---- queries ---------------------------------------------------------------------------------------------------

void blink_measurement::make_ranges_for(operation op, std::uint64_t queries, question& q) const {
  const std::uint64_t length = what_.range_length.value_or(blink_range_length);
  q.ranges =
      lists_ranges(op) ? make_fitting_ranges(*q.elements, queries, length) : make_ranges(*q.elements, queries, length);
  if (q.ranges.size() < queries) {
    q.notes.push_back(
        fmt::format("range: {} of {} queries, so that the answers fit into memory", q.ranges.size(), queries));
  }
  q.keys = device_column(q.ranges.lo, device_);
  q.hi = device_column(q.ranges.hi, device_);
  q.expected = expected_answers(lists_ranges(op) ? operation::range : op, *q.elements, q.view(op));
}

blink_measurement::question blink_measurement::make_question(operation op, std::uint64_t queries,
                                                             std::uint64_t inserted) {
  question q;
  q.elements = &data_.tree;
  if (op == operation::find_after_insert) {
    if (!grown_ || grown_->spec.keys != spec().keys + inserted) grown_ = with_inserted(data_, inserted);
    q.elements = &*grown_;
  }
  if (takes_ranges(op)) {
    make_ranges_for(op, queries, q);
    return q;
  }
  const column& incoming = op == operation::find_after_insert ? grown_->keys : data_.incoming_keys();
  q.points = make_requests(*q.elements, incoming, queries, what_.blink.requests.value_or(request_order::uniform),
                           what_.hit_rate);
  q.keys = device_column(q.points.keys, device_);
  q.expected = asks_neighbours(op) ? expected_neighbours(op, *q.elements, q.points)
                                   : expected_answers(op, *q.elements, q.view(op));
  return q;
}

std::vector<row> blink_measurement::measure_questions(operation op, std::uint64_t queries) {
  const bool after_insert = op == operation::find_after_insert;
  const std::uint64_t inserted = after_insert ? what_.blink.batch.value_or(queries) : 0;
  const question q = make_question(op, queries, inserted);
  blink_step insert;
  if (after_insert) {
    insert.keys = first_of(data_.fresh_keys, inserted);
    insert.values = first_of(data_.fresh_values, inserted);
    insert.allowed.assign(inserted, original);
  }
  const device_step on_device(insert, spec(), device_);
  std::vector<row> rows;
  for (const auto path : paths_of(op, what_)) {
    for (const auto& shape : what_.blink.shapes) {
      blink_under_test tree = make_tree(shape);
      row& r = rows.emplace_back(empty_row(op, tree));
      r.notes = q.notes;
      r.queries = q.view(op).size();
      r.range_elements = q.view(op).elements();
      load(tree);
      if (after_insert) {
        const write_options options{.path = path};
        r.blink->path = name_in(path_names, tree.path_of(write_op::insert, inserted, options));
        r.blink->batch = inserted;
        tree.run(on_device, options);
      }
      time_question(op, q, tree, r);
      finish_row(op, r.queries, tree.stats(), r);
    }
  }
  peers_.add_questions(lists_ranges(op) ? operation::range : op, *q.elements, q.view(op), q.expected, rows);
  return rows;
}

void blink_measurement::time_question(operation op, const question& q, const blink_under_test& tree, row& r) const {
  const query_view view = q.view(op);
  request ask{q.keys.data(), q.hi.data(), view.size(), {}, 0, {}, true, device_.default_stream()};
  const bool finds = asks_points(op) || op == operation::find_after_insert;
  if (finds || asks_neighbours(op)) ask.options.plan = what_.how;
  if (op == operation::range) return time_range(q, tree, ask, r);
  if (op == operation::range_rows) return time_rows(q, tree, ask, r);
  const device_answers out(columns_like(q.expected), device_);
  ask.out = out.pointers();
  out.poison();
  tree.ask(op, ask);
  require_right(op, spec(), view, out.fetch(), q.expected);
  // After the first call, which may have rebuilt the inner levels. A GPU has one plan for all other reads.
  if (finds || !is_gpu()) r.plan = name_in(plan_names, tree.plan_of(ask));
  ask.wait = !is_gpu();
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) tree.ask(op, ask);
    if (!ask.wait) ask.order.synchronize();
  });
}

void blink_measurement::time_rows(const question& q, const blink_under_test& tree, request ask, row& r) const {
  const std::uint64_t length = longest(q.ranges);
  const device_answers out(make_rows(q.ranges, spec(), length), device_);
  ask.out = out.pointers();
  out.poison();
  tree.ask_rows(ask, length);
  require_right_ranges(spec(), q.view(operation::range), without_gaps(out.fetch(), length), q.expected);
  ask.wait = !is_gpu();
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) tree.ask_rows(ask, length);
    ask.order.synchronize();
  });
}

void blink_measurement::time_range(const question& q, const blink_under_test& tree, const request& ask, row& r) const {
  require_right_ranges(spec(), q.view(operation::range), tree.fetch(tree.range(ask)), q.expected);
  request repeated = ask;
  repeated.wait = !is_gpu();
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) static_cast<void>(tree.range(repeated));
    ask.order.synchronize();
  });
}

// ---- writes ----------------------------------------------------------------------------------------------------

std::uint64_t blink_measurement::fitting_size(operation op, std::uint64_t size, std::vector<std::string>& notes) const {
  const std::uint64_t keys = data_.tree.keys.size();
  if (keys == 0 && mixes(op)) {
    throw cli::bad_arguments(fmt::format("--ops {} asks for keys of the tree: give more than 0 --keys.", name_of(op)));
  }
  std::uint64_t most = size;
  const char* why = "";
  if ((op == operation::erase || op == operation::erase_bulk || op == operation::update) && keys < size) {
    most = op == operation::update && keys > 0 ? size : keys;
    why = "the tree has no more keys";
  } else if (op == operation::ycsb_e) {
    most = std::min(size, most_range_elements / 50);  // ranges have 50 elements on average
    why = "so that the answers fit into memory";
  }
  if (most < size) notes.push_back(fmt::format("{}: {} of {} operations, {}", name_of(op), most, size, why));
  return most;
}

double blink_measurement::run_once(operation op, const blink_script& script, const std::vector<device_step>& steps,
                                   const device_step& contents, const write_options& options,
                                   blink_under_test& tree) const {
  // The tree is prepared last, so that a GPU is not idle before the run.
  for (const auto& s : steps) s.out().poison();
  if (script.from_empty) {
    tree.build(nullptr, nullptr, 0);
  } else {
    load(tree);
  }
  device_.default_stream().synchronize();
  const stopwatch watch;
  for (const auto& s : steps) tree.run(s, options);
  const double seconds = watch.seconds();

  const auto require = [&](std::optional<std::string> wrong) {
    if (wrong) throw cli::wrong_answer(fmt::format("{}: {}", name_of(op), *wrong));
  };
  for (const auto& s : steps) {
    const bool range = s.step().what == step_kind::range;
    require(range ? wrong_step(s.step(), spec(), tree.fetch(tree.scanned()), "the tree")
                  : wrong_step(s.step(), spec(), s.out().fetch(), "the tree"));
  }
  if (const std::uint64_t size = tree.stats().size; size != script.size_after) {
    require(fmt::format("the tree has {} keys afterwards, but must have {}.", size, script.size_after));
  }
  contents.out().poison();
  tree.run(contents, {});
  require(wrong_step(contents.step(), spec(), contents.out().fetch(), "the tree afterwards"));
  return seconds;
}

std::vector<row> blink_measurement::measure_writes(operation op, std::uint64_t queries) const {
  std::vector<std::string> notes;
  const std::uint64_t asked = takes_batch(op) ? what_.blink.batch.value_or(queries) : queries;
  const blink_script script = make_script(op, data_, fitting_size(op, asked, notes), what_.blink.requests);
  std::vector<device_step> steps;
  for (const auto& step : script.steps) steps.emplace_back(step, spec(), device_);
  const device_step contents(script.contents, spec(), device_);
  std::vector<row> rows;
  for (const auto path : paths_of(op, what_)) {
    for (const auto& shape : what_.blink.shapes) {
      blink_under_test tree = make_tree(shape);
      row& r = rows.emplace_back(empty_row(op, tree));
      r.notes = notes;
      r.queries = script.operations;
      const write_options options{.path = path};
      if (!script.from_empty) load(tree);
      const blink_step& first = script.steps.front();
      r.blink->path = name_in(path_names, first.what == step_kind::write ? tree.path_of(first.op, first.size(), options)
                                                                         : tree.path_of_mixed(first.size(), options));
      static_cast<void>(run_once(op, script, steps, contents, options, tree));  // warms up memory pools
      if (script.size_after <= most_validated_keys) {
        if (const validation v = tree.validate(); !v) {
          throw cli::wrong_answer(fmt::format("{}: the tree is not valid afterwards: {}", name_of(op), v.problem));
        }
      }
      std::vector<double> seconds;
      while (seconds.size() < what_.write_repeat) {
        seconds.push_back(run_once(op, script, steps, contents, options, tree));
      }
      r.seconds = median(std::move(seconds));
      finish_row(op, script.operations, tree.stats(), r);
    }
  }
  peers_.add_script(op, script, rows);
  return rows;
}

}  // namespace espalier::bench
