// radix_measurement.cpp - see radix_measurement.hpp.
#include "bench/index/radix/radix_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/harness/timing.hpp"
#include "bench/index/radix/radix_lists.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint64_t radix_range_length = 32;
/// The default for a GPU that is queried in batches: as many as the paper's host threads.
constexpr unsigned default_streams = 8;

}  // namespace

std::vector<radix_variant> radix_variants(operation op, const options& what, device_kind dev) {
  const bool cpu = dev == device_kind::cpu;
  const bool point = asks_points(op), write = writes(op);
  const bool structural = write && op != operation::update;
  std::vector<location> places = what.radix.places;
  if (cpu) places = {location::host};
  if (places.empty() || op == operation::build) places = {cpu ? location::host : location::device};
  std::vector<radix_variant> list;
  const auto or_one = [](bool axis, const auto& values, auto other) {
    return axis && !values.empty() ? values : std::remove_cvref_t<decltype(values)>{other};
  };
  for (const auto place : places) {
    for (const auto batch : or_one(point || write, what.radix.batches, std::uint64_t{0})) {
      for (const auto streams : or_one(point, what.radix.streams, std::uint64_t{1})) {
        for (const auto path : or_one(structural, what.radix.paths, radix_path::automatic)) {
          const unsigned usual = cpu || batch == 0 ? 1 : default_streams;
          list.push_back({place, batch, streams == 0 ? usual : static_cast<unsigned>(streams), path});
        }
      }
    }
  }
  return list;
}

radix_measurement::radix_measurement(const options& what, const radix_data& data, const string_maps& maps,
                                     const device& dev, long_key_mode long_keys)
    : what_(what),
      data_(data),
      device_(dev),
      long_keys_(long_keys),
      keys_(data.keys(), data.one_length(), data.keys().size(), dev, location::device),
      values_(data.values(), dev),
      tree_(dev, long_keys),
      peers_(what, data, maps, dev) {}

std::vector<row> radix_measurement::measure(operation op, std::uint64_t queries) {
  std::vector<row> rows;
  for (const auto& how : radix_variants(op, what_, device_.kind())) rows.push_back(measure_one(op, queries, how));
  return rows;
}

row radix_measurement::measure_one(operation op, std::uint64_t queries, const radix_variant& how) {
  row r = empty_row(op, how);
  if (op == operation::build) {
    measure_build(r);
  } else if (asks_points(op)) {
    measure_points(op, queries, how, r);
  } else if (lists_strings(op)) {
    measure_lists(op, queries, how, r);
  } else if (op == operation::update) {
    measure_update(how.batch == 0 ? queries : how.batch, how, r);
  } else if (writes(op)) {
    measure_change(op, how.batch == 0 ? queries : how.batch, how, r);
  } else {
    measure_ranks(op, queries, how, r);
  }
  const double work = static_cast<double>(op == operation::build ? r.keys : r.queries);
  if (r.seconds > 0) r.rate = work / r.seconds;
  const radix_stats stats = tree_.stats();
  if (stats.size != 0)
    r.bytes_per_key = static_cast<double>(stats.bytes + stats.host_bytes) / static_cast<double>(stats.size);
  return r;
}

row radix_measurement::empty_row(operation op, const radix_variant& how) const {
  const byte_spec& spec = data_.generator().spec();
  row r;
  r.index = "radix";
  r.device = is_gpu() ? "gpu" : "cpu";
  r.op = name_of(op);
  r.keys = data_.keys().size();
  r.key_type = "bytes";
  r.value_type = name_of(scalar_kind::u64);
  r.distribution = name_of(spec.shape);
  r.threads = device_.threads();
  if (what_.long_keys_named) r.plan = name_in(long_key_names, long_keys_);
  r.aggregates = name_in(aggregates_names, aggregates::none);
  r.location = name_in(location_names, how.place);
  r.radix.emplace();
  r.radix->key_length = spec.key_length;
  r.radix->long_share = spec.long_share;
  r.radix->mean_key_length =
      static_cast<double>(data_.keys().bytes.size()) / static_cast<double>(std::max<std::uint64_t>(r.keys, 1));
  if (asks_points(op)) r.radix->streams = how.streams;
  if (writes(op) && op != operation::update) r.radix->path = name_in(radix_path_names, how.path);
  return r;
}

void radix_measurement::load() {
  tree_.build(keys_.all(), values_.data());
  changed_ = false;
}

void radix_measurement::load_if_changed() {
  if (changed_) load();
}

void radix_measurement::measure_build(row& r) {
  load();
  if (tree_.stats().size != r.keys)
    throw cli::wrong_answer(fmt::format("build: the tree has {} keys.", tree_.stats().size));
  if (r.keys <= most_validated_keys) {
    if (const validation v = tree_.validate(); !v)
      throw cli::wrong_answer("build: the tree is not valid: " + v.problem);
  }
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) load();
  });
  peers_.add_none(r);
}

// ---- queries ---------------------------------------------------------------------------------------------------

const radix_measurement::point_questions& radix_measurement::questions_for(operation op, std::uint64_t queries) {
  if (!asked_ || asked_->op != op || asked_->queries != queries) {
    asked_.reset();
    radix_questions keys = make_radix_questions(op, data_, queries, what_.hit_rate);
    answers expected = expected_answers(op, data_, keys);
    asked_.emplace(point_questions{op, queries, std::move(keys), std::move(expected)});
  }
  return *asked_;
}

void radix_measurement::measure_points(operation op, std::uint64_t queries, const radix_variant& how, row& r) {
  load_if_changed();
  const point_questions& asked = questions_for(op, queries);
  const radix_questions& questions = asked.keys;
  const answers& expected = asked.expected;
  const std::uint64_t batch = how.batch == 0 ? queries : std::min(how.batch, queries);
  const string_batches batches(questions.keys, questions.one_length, batch, device_, how.place);
  const device_answers out(make_radix_answers(op, questions.size()), device_, how.place);
  const askers who(device_, how.streams);
  r.queries = questions.size();
  r.radix->batch = batch;
  const auto ask = [&](std::size_t b, const stream& order) {
    request one;
    one.out = out.pointers();
    for (std::size_t c = 0; c < expected.size(); ++c) {
      one.out[c] = static_cast<std::byte*>(one.out[c]) + batches.first(b) * bytes_of(expected[c].kind());
    }
    one.order = order;
    one.wait = !is_gpu();
    tree_.ask(op, batches[b], one);
  };
  out.poison();
  who.run(1, batches.size(), ask);
  if (auto wrong = difference(op, questions.keys, out.fetch(), expected, "the reference", questions.size())) {
    throw cli::wrong_answer(*wrong);
  }
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) { who.run(k, batches.size(), ask); });
  peers_.add_points(op, questions, expected, {how.place, batch, how.streams}, r);
}

void radix_measurement::measure_ranks(operation op, std::uint64_t queries, const radix_variant& how, row& r) {
  load_if_changed();
  const point_questions& asked = questions_for(op, queries);
  const radix_questions& questions = asked.keys;
  const answers& expected = asked.expected;
  const string_batches on_device(questions.keys, questions.one_length, questions.size(), device_, how.place);
  const byte_string_batch keys = on_device.all();
  const device_answers out(make_radix_answers(op, questions.size()), device_, how.place);
  request ask;
  ask.out = out.pointers();
  ask.order = device_.default_stream();
  r.queries = questions.size();
  out.poison();
  tree_.ask(op, keys, ask);
  if (auto wrong = difference(op, questions.keys, out.fetch(), expected, "the reference", questions.size())) {
    throw cli::wrong_answer(*wrong);
  }
  ask.wait = !is_gpu();
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) tree_.ask(op, keys, ask);
    if (!ask.wait) ask.order.synchronize();
  });
  peers_.add_none(r);
}

void radix_measurement::measure_lists(operation op, std::uint64_t queries, const radix_variant& how, row& r) {
  load_if_changed();
  const radix_lists lists =
      make_radix_lists(op, data_, queries, what_.range_length.value_or(radix_range_length), what_.hit_rate);
  const string_batches low(lists.lo, lists.one_length, lists.size(), device_, how.place);
  const string_batches high(lists.hi, lists.one_length, lists.hi.size(), device_, how.place);
  const byte_string_batch lo = low.all(), hi = op == operation::range ? high.all() : lo;
  r.queries = lists.size();
  r.range_elements = lists.elements();
  r.notes = lists.notes;
  if (auto wrong = wrong_lists(op, data_, lists, tree_.list(op, lo, hi))) throw cli::wrong_answer(*wrong);
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) static_cast<void>(tree_.list(op, lo, hi));
    device_.default_stream().synchronize();
  });
  peers_.add_none(r);
}

}  // namespace espalier::bench
