// static_measurement.cpp - times and checks one index; the peers are in static_measurement_peers.cpp.
#include "bench/index/static/static_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/harness/timing.hpp"
#include "bench/harness/visit_timing.hpp"
#include "bench/index/memory_traffic.hpp"

namespace espalier::bench {
namespace {

std::uint64_t default_range_length(operation op, std::uint64_t keys) {
  return op == operation::range ? 100 : std::clamp<std::uint64_t>(keys / 16, 1, 1'000'000);
}

}  // namespace

static_measurement::static_measurement(const options& what, const workload& data, device dev, double copy_bandwidth)
    : what_(what),
      data_(data),
      device_(std::move(dev)),
      copy_bandwidth_(copy_bandwidth),
      keys_(data.keys, device_),
      values_(data.values, device_),
      tree_(make_system_under_test(data.spec.key, data.spec.value)) {}

row static_measurement::measure(operation op, std::uint64_t queries) {
  row r = empty_row(op);
  if (op == operation::build) {
    measure_build(r);
  } else {
    need_tree(op);
    if (op == operation::visit) {
      measure_visit(r);
    } else {
      const inputs in = make_inputs(op, queries, r);
      measure_queries(op, r, in);
    }
  }
  return r;
}

row static_measurement::empty_row(operation op) const {
  row r;
  r.device = is_gpu() ? "gpu" : "cpu";
  r.op = name_of(op);
  r.keys = data_.keys.size();
  r.key_type = name_of(data_.spec.key);
  r.value_type = name_of(data_.spec.value);
  r.distribution = name_of(data_.spec.shape);
  r.threads = device_.threads();
  r.aggregates = name_in(aggregates_names, kept_for(op));
  r.location = is_gpu() ? "device" : "host";
  return r;
}

aggregates static_measurement::kept_for(operation op) const {
  if (what_.keep) return *what_.keep;
  return needed_by(op);
}

query_options static_measurement::query_options_for(operation op) const {
  query_options o;
  o.plan = what_.how;
  if (op == operation::find_sorted) o.order = batch_order::ascending;
  if (what_.search) o.search = *what_.search;
  return o;
}

void static_measurement::need_tree(operation op) {
  const aggregates keep = kept_for(op);
  if (built_with_ == keep) return;
  built_with_.reset();
  tree_->build({keys_.data(), values_.data(), data_.keys.size(), {.sorted = false, .keep = keep}}, device_);
  built_with_ = keep;
}

static_measurement::inputs static_measurement::make_inputs(operation op, std::uint64_t queries, row& r) const {
  inputs in;
  if (takes_ranges(op)) {
    const std::uint64_t length = what_.range_length.value_or(default_range_length(op, data_.keys.size()));
    in.ranges =
        op == operation::range ? make_fitting_ranges(data_, queries, length) : make_ranges(data_, queries, length);
    if (in.ranges.size() < queries) {
      r.notes.push_back(
          fmt::format("range: {} of {} queries, so that the answers fit into memory", in.ranges.size(), queries));
    }
    in.keys = device_column(in.ranges.lo, device_);
    in.hi = device_column(in.ranges.hi, device_);
    r.range_elements = query_view{nullptr, &in.ranges}.elements();
  } else {
    in.points = make_queries(data_, queries, what_.hit_rate, op == operation::find_sorted);
    in.keys = device_column(in.points.keys, device_);
  }
  r.queries = in.view(op).size();
  return in;
}

void static_measurement::measure_build(row& r) {
  const build_request build{
      keys_.data(), values_.data(), data_.keys.size(), {.sorted = false, .keep = kept_for(operation::build)}};
  built_with_.reset();
  tree_->build(build, device_);
  if (data_.keys.size() <= most_validated_keys) {
    if (const validation v = tree_->validate(); !v)
      throw cli::wrong_answer("build: the index is not valid: " + v.problem);
  }
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) tree_->build(build, device_);
  });
  built_with_ = kept_for(operation::build);
  finish_row(operation::build, r);
  add_peers(operation::build, r, {}, {});
}

void static_measurement::measure_visit(row& r) {
  if (!tree_->visit()) {
    r.notes.push_back(
        "visit: skipped, not compiled for these types on a GPU (same key and value type: u32, u64, f32, f64)");
    finish_row(operation::visit, r);
    return;
  }
  r.seconds = seconds_of_visit("the index", checksum_of(data_), what_.repeat, [&] { return *tree_->visit(); });
  finish_row(operation::visit, r);
  add_peers(operation::visit, r, {}, {});
}

void static_measurement::measure_queries(operation op, row& r, const inputs& in) {
  const query_view view = in.view(op);
  const answers expected = expected_answers(op, data_, view);
  const std::uint64_t elements = op == operation::range ? r.range_elements : 0;
  const device_answers out(make_answers(op, data_.spec, view.size(), elements), device_);
  request q{in.keys.data(), in.hi.data(), view.size(), out.pointers(), elements, query_options_for(op), true, {}};
  out.poison();
  tree_->run(op, q);
  const answers& ours = out.fetch();
  require_right(op, data_.spec, view, ours, expected);

  const stream order = device_.default_stream();
  q.order = order;
  q.wait = !is_gpu();
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) tree_->run(op, q);
    if (!q.wait) order.synchronize();
  });
  if (!takes_ranges(op)) {
    const query_plan chosen =
        what_.how != query_plan::automatic ? what_.how : tree_->explain(view.size(), q.options).chosen;
    r.plan = name_in(plan_names, chosen);
  }
  finish_row(op, r);
  add_peers(op, r, in, ours);
}

void static_measurement::finish_row(operation op, row& r) const {
  const double work = static_cast<double>(takes_no_queries(op) ? r.keys : r.queries);
  if (r.seconds > 0) r.rate = work / r.seconds;
  if (r.keys != 0) r.bytes_per_key = static_cast<double>(tree_->stats().bytes) / static_cast<double>(r.keys);
  if (const auto bytes = least_memory_traffic(op, r, data_.spec.key, data_.spec.value, tree_->stats().leaf_bytes);
      bytes && copy_bandwidth_ > 0 && r.seconds > 0) {
    r.bandwidth_share = *bytes / r.seconds / copy_bandwidth_;
  }
}

}  // namespace espalier::bench
