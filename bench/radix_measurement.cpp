// radix_measurement.cpp - see radix_measurement.hpp.
#include "bench/radix_measurement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/radix_peers.hpp"
#include "bench/timing.hpp"

namespace espalier::bench {

radix_measurement::radix_measurement(const options& what, const radix_data& data, const device& where,
                                     long_key_way long_keys)
    : what_(what),
      data_(data),
      where_(where),
      long_keys_(long_keys),
      keys_(data.keys(), data.one_length(), where),
      values_(data.values(), where),
      tree_(where, long_keys) {}

row radix_measurement::measure(operation op, std::uint64_t queries) {
  row r = empty_row(op);
  if (op == operation::build) {
    measure_build(r);
  } else {
    if (!tree_.built()) load();
    measure_questions(op, queries, r);
  }
  const double work = static_cast<double>(op == operation::build ? r.keys : r.queries);
  if (r.seconds > 0) r.rate = work / r.seconds;
  const radix_stats s = tree_.stats();
  if (r.keys != 0) r.bytes_per_key = static_cast<double>(s.bytes + s.host_bytes) / static_cast<double>(r.keys);
  return r;
}

row radix_measurement::empty_row(operation op) const {
  const byte_spec& spec = data_.generator().spec();
  row r;
  r.index = "radix";
  r.device = is_gpu() ? "gpu" : "cpu";
  r.op = name_of(op);
  r.keys = data_.keys().size();
  r.key_type = "bytes";
  r.value_type = name_of(scalar_kind::u64);
  r.distribution = name_of(spec.shape);
  r.threads = where_.threads();
  if (what_.long_keys_named) r.plan = name_in(long_key_names, long_keys_);
  r.aggregates = name_in(aggregates_names, aggregates::none);
  r.location = is_gpu() ? "device" : "host";
  const auto bytes = static_cast<double>(data_.keys().bytes.size());
  r.radix =
      radix_columns{spec.key_length, spec.long_share, bytes / static_cast<double>(std::max<std::uint64_t>(r.keys, 1))};
  return r;
}

void radix_measurement::measure_build(row& r) {
  load();
  if (tree_.stats().size != r.keys) throw wrong_answer(fmt::format("build: the tree has {} keys.", tree_.stats().size));
  if (r.keys <= most_validated_keys) {
    if (const validation v = tree_.validate(); !v) throw wrong_answer("build: the tree is not valid: " + v.problem);
  }
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) load();
  });
  add_radix_peers(operation::build, what_, data_, {}, {}, where_, r);
}

void radix_measurement::measure_questions(operation op, std::uint64_t queries, row& r) {
  const radix_questions questions = make_radix_questions(op, data_, queries, what_.hit_rate);
  const answers expected = expected_answers(op, data_, questions);
  const placed_strings placed(questions.keys, questions.one_length, where_);
  const keys_of_bytes keys = placed.keys();
  const placed_answers out(make_radix_answers(op, questions.size()), where_);
  request ask;
  ask.out = out.pointers();
  ask.order = where_.default_stream();
  r.queries = questions.size();

  out.poison();
  tree_.ask(op, keys, ask);
  if (auto wrong = difference(op, questions, out.fetch(), expected, "the reference", questions.size())) {
    throw wrong_answer(*wrong);
  }
  ask.wait = !is_gpu();
  r.seconds = median_seconds(what_.repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) tree_.ask(op, keys, ask);
    if (!ask.wait) ask.order.synchronize();
  });
  add_radix_peers(op, what_, data_, questions, expected, where_, r);
}

}  // namespace espalier::bench
