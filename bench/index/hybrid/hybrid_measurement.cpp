// hybrid_measurement.cpp - see hybrid_measurement.hpp.
#include "bench/index/hybrid/hybrid_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "bench/data/range_rows.hpp"
#include "bench/harness/event_counter.hpp"
#include "bench/harness/timing.hpp"

namespace espalier::bench {
namespace {

/// The range length of the paper's figures.
constexpr std::uint64_t hybrid_range_length = 8;
/// The number of buckets of the sample with which a tree is tuned.
constexpr std::uint64_t tuning_buckets = 16;
/// The minimum bucket size, even for calls with few queries.
constexpr std::uint64_t least_bucket = std::uint64_t{1} << 16;

/// The host alone does not use buckets, so it is one way, measured with the first bucket size.
std::vector<hybrid_way> ways(operation op, const options& what, bool first_bucket) {
  if (!travels(op)) return {hybrid_way{}};
  std::vector<hybrid_way> list;
  for (const auto placement : what.hybrid.placements) {
    if (placement == hybrid_placement::host_alone) {
      if (first_bucket) list.push_back({});
      continue;
    }
    for (const auto depth : what.hybrid.queue_depths) {
      for (const auto balance : what.hybrid.balances) list.push_back({placement, depth, balance});
    }
  }
  return list;
}

/// Returns the request orders of an operation that draws its keys, and a single empty one for the others.
std::vector<std::optional<request_order>> requests_of(operation op, const options& what) {
  if (takes_ranges(op) || takes_no_queries(op) || (writes(op) && op != operation::update)) return {std::nullopt};
  return {what.hybrid.requests.begin(), what.hybrid.requests.end()};
}

/// The implicit layout is rebuilt, whatever the way.
std::vector<update_mode> update_ways(operation op, const options& what, hybrid_layout layout) {
  if (!writes(op) || layout == hybrid_layout::implicit) return {update_mode::automatic};
  return what.hybrid.ways;
}

hybrid_query_options query_for(const hybrid_way& way) {
  hybrid_query_options how;
  how.placement = way.placement;
  how.queue_depth = way.queue_depth;
  if (way.balance == balancing::none) how.balance = load_balance{};
  return how;
}

/// Returns the TLB misses per query, or nothing if the system does not count them.
template <class Ask>
std::optional<double> tlb_misses_of(std::size_t queries, const Ask& ask) {
  const event_counter misses(tlb_load_misses);
  ask();
  const std::optional<double> count = misses.count();
  if (!count || queries == 0) return std::nullopt;
  return *count / static_cast<double>(queries);
}

/// Returns whether the device has the inner levels.
bool takes_part(const hybrid_stats& s) { return s.device_bytes >= s.inner_bytes && s.device_bytes != 0; }

}  // namespace

std::size_t hybrid_rows(operation op, const options& what) {
  std::size_t per_layout = 0;
  for (std::size_t b = 0; b < (travels(op) ? what.hybrid.buckets.size() : 1); ++b) {
    per_layout += ways(op, what, b == 0).size();
  }
  std::size_t rows = 0;
  for (const auto layout : what.hybrid.layouts) rows += per_layout * update_ways(op, what, layout).size();
  return rows * what.hybrid.pages.size() * requests_of(op, what).size();
}

hybrid_measurement::hybrid_measurement(const options& what, const blink_data& data, const device& dev, unsigned threads)
    : what_(what),
      data_(data),
      device_(dev),
      host_(device::cpu(threads)),
      tree_(dev, data.tree.spec),
      peers_(what, data, host_) {}

std::vector<row> hybrid_measurement::measure(operation op, std::uint64_t queries) {
  if (op == operation::build) return measure_build();
  return writes(op) ? measure_writes(op, queries) : measure_questions(op, queries);
}

row hybrid_measurement::empty_row(operation op, const tree_shape& shape) const {
  row r;
  r.index = "hybrid";
  r.device = device_.kind() == device_kind::cuda ? "gpu" : "cpu";
  r.op = name_of(op);
  r.keys = data_.tree.keys.size();
  r.key_type = name_of(spec().key);
  r.value_type = name_of(spec().value);
  r.distribution = name_of(spec().shape);
  r.threads = host_.threads();
  r.aggregates = name_in(aggregates_names, aggregates::none);
  r.location = is_pinned() ? "host, pinned" : "host";
  r.hybrid.emplace();
  r.hybrid->layout = name_in(layout_names, shape.layout);
  r.hybrid->pages = name_in(pages_names, shape.pages);
  r.hybrid->placement = r.hybrid->ran = name_in(placement_names, hybrid_placement::host_alone);
  r.hybrid->repeat = writes(op) && op != operation::update ? what_.write_repeat : what_.repeat;
  return r;
}

void hybrid_measurement::finish_row(std::uint64_t work, row& r) const {
  const hybrid_stats s = tree_.stats();
  if (r.seconds > 0) r.rate = static_cast<double>(work) / r.seconds;
  if (s.size != 0) r.bytes_per_key = static_cast<double>(s.host_bytes) / static_cast<double>(s.size);
  r.hybrid->inner_bytes = s.inner_bytes;
  r.hybrid->device_bytes = s.device_bytes;
  const auto share = [](std::size_t part, std::size_t all) {
    return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
  };
  r.hybrid->huge_inner = share(s.pages.huge_inner_bytes, s.pages.inner_bytes);
  r.hybrid->huge_leaves = share(s.pages.huge_leaf_bytes, s.pages.leaf_bytes);
  if (!s.pages.reason.empty()) r.notes.push_back(fmt::format("pages {}: {}", r.hybrid->pages, s.pages.reason));
}

void hybrid_measurement::note_sent(row& r) const {
  const hybrid_update u = tree_.stats().update;
  r.hybrid->sent = u.sent;
  r.hybrid->send_seconds = u.send_seconds;
}

/// Bucket sizes only matter to operations that are executed in buckets.
std::vector<hybrid_measurement::tree_shape> hybrid_measurement::shapes(operation op) const {
  std::vector<tree_shape> list;
  for (const auto layout : what_.hybrid.layouts) {
    for (const auto pages : what_.hybrid.pages) {
      for (const auto bucket : what_.hybrid.buckets) {
        if (travels(op) || bucket == what_.hybrid.buckets.front()) list.push_back({layout, bucket, pages});
      }
    }
  }
  return list;
}

void hybrid_measurement::load(const tree_shape& shape) {
  built_.reset();
  hybrid_options o;
  o.layout = shape.layout;
  o.pages = shape.pages;
  o.fill = what_.hybrid.fill;
  o.bucket = shape.bucket;
  o.gpu_memory = what_.hybrid.gpu_memory.value_or(std::numeric_limits<std::size_t>::max());
  o.leaf_cache = what_.hybrid.leaf_cache;
  o.window = what_.hybrid.window.value_or(o.window);
  o.threads = host_.threads();
  tree_.build(o, data_.tree.keys, data_.tree.values);
  built_ = shape;
}

void hybrid_measurement::need_tree(const tree_shape& shape) {
  if (built_ != shape) load(shape);
}

void hybrid_measurement::require_valid(operation op, std::uint64_t size) const {
  if (const std::uint64_t n = tree_.stats().size; n != size)
    throw cli::wrong_answer(fmt::format("{}: the tree has {} keys, but must have {}.", name_of(op), n, size));
  if (size > most_validated_keys) return;
  if (const validation v = tree_.validate(); !v)
    throw cli::wrong_answer(fmt::format("{}: the tree is not valid: {}", name_of(op), v.problem));
}

/// Builds from pairs in key order.
std::vector<row> hybrid_measurement::measure_build() {
  std::vector<row> rows;
  for (const auto& shape : shapes(operation::build)) {
    row& r = rows.emplace_back(empty_row(operation::build, shape));
    const stopwatch watch;
    load(shape);
    const double first = watch.seconds();
    require_valid(operation::build, r.keys);
    r.seconds = median_seconds_after(first, what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) load(shape);
    });
    note_sent(r);
    finish_row(r.keys, r);
  }
  peers_.add_build(rows);
  return rows;
}

// ---- queries ---------------------------------------------------------------------------------------------------

/// The maximum number of elements in all results. Rows are in host memory, which may be larger than a GPU's; they, the
/// expected results and the compared ones take up to 128 bytes per element.
std::uint64_t hybrid_measurement::most_elements(operation op) const {
  return op == operation::range_rows ? std::max<std::uint64_t>(most_range_elements, host_.memory().free / 128)
                                     : most_range_elements;
}

hybrid_measurement::question hybrid_measurement::make_question(operation op, std::uint64_t queries,
                                                               std::optional<request_order> requests) const {
  question q{op, requests, {}, {}, {}, {}};
  if (takes_ranges(op)) {
    const std::uint64_t length = what_.range_length.value_or(hybrid_range_length);
    q.ranges = lists_ranges(op) ? make_fitting_ranges(data_.tree, queries, length, most_elements(op))
                                : make_ranges(data_.tree, queries, length);
    if (q.ranges.size() < queries) {
      q.notes.push_back(
          fmt::format("range: {} of {} queries, so that the answers fit into memory", q.ranges.size(), queries));
    }
  } else {
    q.points = make_requests(data_.tree, data_.tree.keys, queries, *requests, what_.hit_rate);
  }
  q.expected = asks_neighbours(op) ? expected_neighbours(op, data_.tree, q.points)
                                   : expected_answers(lists_ranges(op) ? operation::range : op, data_.tree, q.view());
  return q;
}

std::vector<row> hybrid_measurement::measure_questions(operation op, std::uint64_t queries) {
  std::vector<question> asked;
  for (const auto requests : requests_of(op, what_)) asked.push_back(make_question(op, queries, requests));
  // The outer loop is over trees, since they take longest to build; peers are measured once for all rows of a query.
  std::vector<std::vector<row>> rows(asked.size());
  std::vector<cost> alone(asked.size());
  for (const auto& shape : shapes(op)) {
    const bool first_bucket = shape.bucket == what_.hybrid.buckets.front();
    need_tree(shape);
    for (std::size_t k = 0; k < asked.size(); ++k) {
      if (first_bucket) alone[k] = time_question(asked[k], query_for({}));
      for (const auto& way : ways(op, what_, first_bucket)) {
        rows[k].push_back(measure_way(asked[k], shape, way, alone[k]));
      }
    }
  }
  std::vector<row> all;
  for (std::size_t k = 0; k < asked.size(); ++k) {
    peers_.add_questions(lists_ranges(op) ? operation::range : op, data_.tree, asked[k].view(), asked[k].expected,
                         rows[k]);
    std::move(rows[k].begin(), rows[k].end(), std::back_inserter(all));
  }
  return all;
}

row hybrid_measurement::measure_way(const question& q, const tree_shape& shape, const hybrid_way& way,
                                    const cost& alone) {
  row r = empty_row(q.op, shape);
  r.notes = q.notes;
  r.queries = q.view().size();
  r.range_elements = q.view().elements();
  if (takes_ranges(q.op)) r.hybrid->range_length = what_.range_length.value_or(hybrid_range_length);
  if (q.requests) r.hybrid->requests = name_in(request_names, *q.requests);
  if (way.alone()) {
    r.seconds = alone.seconds;
    r.hybrid->tlb_misses = alone.tlb_misses;
    finish_row(r.queries, r);
    return r;
  }
  if (way.balance == balancing::tuned || way.placement == hybrid_placement::automatic) {
    const std::uint64_t sample = std::min<std::uint64_t>(q.keys().size(), tuning_buckets * shape.bucket);
    tree_.tune(copy_of(first_of(q.keys(), sample)).data(), sample);
  }
  r.seconds = time_question(q, query_for(way)).seconds;
  finish_row(r.queries, r);
  const hybrid_stats s = tree_.stats();
  r.hybrid->placement = name_in(placement_names, way.placement);
  r.hybrid->handling = name_in(queue_depth_names, way.queue_depth);
  r.hybrid->bucket = shape.bucket;
  if (s.reads_leaves) r.hybrid->leaf_cache = s.leaf_cache_bytes;
  r.hybrid->balance = name_in(balancing_names, way.balance);
  if (way.balance == balancing::tuned) {
    r.hybrid->levels = s.balance.levels;
    r.hybrid->share = s.balance.share;
  }
  r.hybrid->ran = name_in(placement_names, s.last);
  if (s.last != way.placement) {
    const bool few =
        way.placement == hybrid_placement::automatic && r.queries / 4 < shape.bucket && r.queries / 4 < least_bucket;
    r.notes.push_back(fmt::format("{}, {}, {}: {}{}", name_of(q.op), r.hybrid->layout, r.hybrid->ran, s.reason,
                                  few ? fmt::format(" Calls of fewer than {} queries are the host's.",
                                                    size_text(4 * std::min(shape.bucket, least_bucket)))
                                      : ""));
  }
  if (r.seconds > 0) r.peers.push_back({"host-alone", alone.seconds, r.queries, alone.seconds / r.seconds});
  return r;
}

host_memory hybrid_measurement::copy_of(const column& c) const {
  host_memory m(c.byte_count(), is_pinned() ? device_ : host_);
  if (m.bytes() != 0) std::memcpy(m.data(), c.data(), m.bytes());
  return m;
}

hybrid_measurement::cost hybrid_measurement::time_question(const question& q, const hybrid_query_options& how) const {
  const query_view view = q.view();
  const host_memory keys = copy_of(q.keys()), hi = copy_of(q.ranges.hi);
  request ask{keys.data(), hi.data(), view.size(), {}, 0, {}, true, {}};
  if (q.op == operation::range) {
    require_right_ranges(spec(), q.view(), tree_.fetch(tree_.range(ask, how)), q.expected);
    const double seconds = median_seconds(what_.repeat, [&](std::size_t k) {
      for (std::size_t i = 0; i < k; ++i) static_cast<void>(tree_.range(ask, how));
    });
    return {seconds, std::nullopt};
  }
  const bool rows = q.op == operation::range_rows;
  const std::uint64_t length = rows ? longest(q.ranges) : 0;
  const answers out = rows ? make_rows(q.ranges, spec(), length) : columns_like(q.expected);
  std::vector<host_memory> written;
  for (std::size_t c = 0; c < out.size(); ++c) {
    out[c].poison();
    written.push_back(copy_of(out[c]));
    ask.out[c] = written[c].data();
  }
  const auto ask_once = [&] { rows ? tree_.ask_rows(ask, length, how) : tree_.ask(q.op, ask, how); };
  ask_once();
  for (std::size_t c = 0; c < out.size(); ++c) {
    if (out[c].byte_count() != 0) std::memcpy(out[c].data(), ask.out[c], out[c].byte_count());
  }
  if (rows) {
    require_right_ranges(spec(), q.view(), without_gaps(out, length), q.expected);
  } else {
    require_right(q.op, spec(), view, out, q.expected);
  }
  const double seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) ask_once();
  });
  // One host thread is the calling thread.
  const bool is_own = how.placement == hybrid_placement::host_alone && host_.threads() == 1;
  return {seconds, is_own ? tlb_misses_of(view.size(), ask_once) : std::nullopt};
}

// ---- writes ----------------------------------------------------------------------------------------------------

std::vector<row> hybrid_measurement::measure_writes(operation op, std::uint64_t queries) {
  const std::uint64_t keys = data_.tree.keys.size();
  const bool takes_keys = op == operation::erase || (op == operation::update && keys == 0);
  const std::uint64_t size = takes_keys ? std::min(queries, keys) : queries;
  std::vector<row> all;
  for (const auto requests : requests_of(op, what_)) {
    const blink_script script = make_script(op, data_, size, requests);
    std::vector<row> rows;
    for (const auto& shape : shapes(op)) {
      for (const auto way : update_ways(op, what_, shape.layout)) {
        row& r = rows.emplace_back(measure_write(op, script, shape, way));
        if (requests) r.hybrid->requests = name_in(request_names, *requests);
        if (size < queries) {
          r.notes.push_back(
              fmt::format("{}: {} of {} operations, the tree has no more keys", name_of(op), size, queries));
        }
      }
    }
    peers_.add_script(op, script, rows);
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

row hybrid_measurement::measure_write(operation op, const blink_script& script, const tree_shape& shape,
                                      update_mode way) {
  row r = empty_row(op, shape);
  r.queries = script.operations;
  load(shape);
  static_cast<void>(write_once(op, script, way));  // warms up memory pools
  require_contents(op, script);
  r.seconds = median_of_runs(op == operation::update ? what_.repeat : what_.write_repeat, [&] {
    if (op != operation::update) load(shape);
    return write_once(op, script, way);
  });
  // Inner levels on the device are updated within the call.
  note_sent(r);
  const hybrid_stats s = tree_.stats();
  if (takes_part(s)) r.hybrid->placement = r.hybrid->ran = name_in(placement_names, hybrid_placement::shared);
  if (shape.layout == hybrid_layout::regular) {
    r.hybrid->way = name_in(update_way_names, s.update.way);
    if (way == update_mode::automatic) r.notes.push_back(fmt::format("{}: {}", r.hybrid->way, s.update.reason));
  }
  finish_row(r.queries, r);
  return r;
}

double hybrid_measurement::write_once(operation op, const blink_script& script, update_mode way) {
  const blink_step& step = script.steps.front();
  const column done(scalar_kind::u8, step.size());
  done.poison();
  built_.reset();
  const stopwatch watch;
  tree_.write(op == operation::erase ? write_op::erase : write_op::insert_or_assign, step.keys, step.values, done, way);
  const double seconds = watch.seconds();
  // Updates do not add keys; the keys of inserts and erases are distinct.
  const std::uint8_t right = op == operation::update ? 0 : 1;
  const auto marks = done.as<const std::uint8_t>();
  if (const auto wrong = std::find_if(marks.begin(), marks.end(), [&](auto m) { return m != right; });
      wrong != marks.end()) {
    const auto i = static_cast<std::size_t>(wrong - marks.begin());
    throw cli::wrong_answer(fmt::format("{}: element {} (key {}): the tree answers {}, but {} is right.", name_of(op),
                                        i, text_of(step.keys, i), *wrong, right));
  }
  return seconds;
}

void hybrid_measurement::require_contents(operation op, const blink_script& script) const {
  require_valid(op, script.size_after);
  const blink_step& all = script.contents;
  const answers out = make_answers(all, spec());
  const request ask{all.keys.data(), nullptr, all.size(), {out[0].data(), out[1].data()}, 0, {}, true, {}};
  tree_.ask(operation::find, ask, {});
  if (auto wrong = wrong_step(all, spec(), out, "the tree afterwards")) {
    throw cli::wrong_answer(fmt::format("{}: {}", name_of(op), *wrong));
  }
}

}  // namespace espalier::bench
