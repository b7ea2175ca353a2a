// radix_writes.cpp - see radix_writes.hpp.
#include "bench/index/radix/radix_writes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "bench/data/generators.hpp"
#include "bench/data/random.hpp"

namespace espalier::bench {
namespace {

radix_questions keys_to_insert(const radix_data& data, std::uint64_t n) {
  radix_questions q;
  q.one_length = data.one_length();
  q.keys = make_byte_keys(data.generator(), data.keys().size(), n);
  q.numbers.resize(n);
  std::iota(q.numbers.begin(), q.numbers.end(), data.keys().size());
  return q;
}

radix_questions keys_to_erase(const radix_data& data, std::uint64_t n) {
  radix_questions q;
  q.one_length = data.one_length();
  q.numbers.resize(n);
  const permutation order(data.keys().size(), mix(data.generator().spec().seed ^ 0x65726173u));
  parallel_indices(n, [&](std::uint64_t i) { q.numbers[i] = order(i); });
  q.keys =
      make_byte_column(n, q.one_length, [&](std::uint64_t i, std::string& to) { to += data.keys()[q.numbers[i]]; });
  return q;
}

}  // namespace

radix_batch make_radix_batch(operation op, const radix_data& data, std::uint64_t n, double hit_rate) {
  const std::uint64_t keys = data.keys().size();
  radix_batch b;
  if (op == operation::insert) {
    const std::uint64_t others = data.generator().distinct() - keys;
    if (others < n) b.notes.push_back(fmt::format("insert: {} of {} keys, the data set has no more", others, n));
    n = std::min(n, others);
    b.what = write_op::insert;
    b.elements = keys_to_insert(data, n);
    b.size_after = keys + n;
  } else if (op == operation::erase) {
    if (keys < n) b.notes.push_back(fmt::format("erase: {} of {} keys, the tree has no more", keys, n));
    n = std::min(n, keys);
    b.what = write_op::erase;
    b.elements = keys_to_erase(data, n);
    b.size_after = keys - n;
  } else {
    b.what = write_op::update;
    b.elements = make_radix_questions(operation::find, data, n, hit_rate);
    b.size_after = keys;
  }
  b.values = column(op == operation::erase ? no_value : scalar_kind::u64, n);
  if (op != operation::erase)
    generate_values<std::uint64_t>(~data.generator().spec().seed, b.values.as<std::uint64_t>());
  if (op == operation::update) {
    b.before = column(scalar_kind::u64, n);
    const auto own = data.values().as<const std::uint64_t>();
    parallel_indices(n, [&](std::uint64_t i) {
      const std::uint64_t number = b.elements.numbers[i];
      b.before.as<std::uint64_t>()[i] = number < keys ? own[number] : 0;
    });
  }
  b.done.emplace_back(scalar_kind::u8, n);
  parallel_indices(n, [&](std::uint64_t i) {
    b.done[0].as<std::uint8_t>()[i] = op != operation::update || b.elements.numbers[i] < keys ? 1 : 0;
  });
  return b;
}

answers contents_after(const radix_batch& batch, const radix_data& data) {
  const std::uint64_t keys = data.keys().size();
  answers out = make_radix_answers(operation::find, keys);
  const auto values = out[0].as<std::uint64_t>();
  const auto found = out[1].as<std::uint8_t>();
  const auto before = data.values().as<const std::uint64_t>();
  parallel_indices(keys, [&](std::uint64_t i) {
    values[i] = before[i];
    found[i] = 1;
  });
  if (batch.what == write_op::insert) return out;
  for (std::size_t i = 0; i < batch.elements.size(); ++i) {
    const std::uint64_t number = batch.elements.numbers[i];
    if (number >= keys) continue;
    if (batch.what == write_op::erase) found[number] = 0;
    values[number] = batch.what == write_op::erase ? 0 : batch.values.as<const std::uint64_t>()[i];
  }
  return out;
}

answers batch_after(const radix_batch& batch) {
  answers out = make_radix_answers(operation::find, batch.elements.size());
  const auto values = out[0].as<std::uint64_t>();
  const auto given = batch.values.as<const std::uint64_t>();
  std::copy(given.begin(), given.end(), values.begin());
  std::fill_n(out[1].as<std::uint8_t>().begin(), batch.elements.size(), std::uint8_t{1});
  return out;
}

}  // namespace espalier::bench
