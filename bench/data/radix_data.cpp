// radix_data.cpp - see radix_data.hpp.
#include "bench/data/radix_data.hpp"

#include <fmt/format.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <memory>

#include "bench/data/generators.hpp"
#include "bench/data/random.hpp"
#include "bench/harness/options.hpp"

namespace espalier::bench {
namespace {

constexpr data_spec element_types{no_value, scalar_kind::u64};

std::vector<std::uint64_t> draw_numbers(const radix_data& data, std::uint64_t n, double hit_rate) {
  const byte_spec& spec = data.generator().spec();
  const std::uint64_t keys = data.keys().size();
  const std::uint64_t others = std::min(data.generator().distinct() - keys, std::max(keys, n));
  const std::uint64_t seed = mix(spec.seed ^ 0x71756572u);
  if (n != 0 && others == 0 && hit_rate < 1) {
    throw cli::bad_arguments(fmt::format("--hit-rate {}: {} has no keys besides those of the tree: give fewer --keys.",
                                         hit_rate, name_of(spec.shape)));
  }
  std::vector<std::uint64_t> numbers(n);
  parallel_indices(n, [&](std::uint64_t i) {
    const std::uint64_t bits = random_bits(seed, i);
    const bool hit = keys != 0 && unit(mix(~bits)) < hit_rate;
    numbers[i] = hit ? below(bits, keys) : keys + below(bits, others);
  });
  return numbers;
}

/// Returns a number in the order of the strings, up to ties.
std::uint64_t first_bytes(std::string_view key) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < sizeof word; ++i) {
    word = word << 8 | (i < key.size() ? static_cast<std::uint8_t>(key[i]) : 0);
  }
  return word;
}

}  // namespace

sorted_strings::sorted_strings(const byte_column& keys) : keys_(keys), positions_(keys.size()) {
  // The first bytes are stored next to the positions, so that most comparisons need no other memory access.
  struct entry {
    std::uint64_t first_bytes;
    std::uint32_t position;
  };
  const auto entries = std::make_unique_for_overwrite<entry[]>(keys.size());
  parallel_indices(keys.size(), [&](std::uint64_t i) {
    entries[i] = {first_bytes(keys[i]), static_cast<std::uint32_t>(i)};
  });
  tbb::parallel_sort(entries.get(), entries.get() + keys.size(), [&](const entry& a, const entry& b) {
    return a.first_bytes != b.first_bytes ? a.first_bytes < b.first_bytes : keys[a.position] < keys[b.position];
  });
  parallel_indices(keys.size(), [&](std::uint64_t i) { positions_[i] = entries[i].position; });
}

std::uint64_t sorted_strings::rank_of(std::string_view key) const {
  const auto at =
      std::partition_point(positions_.begin(), positions_.end(), [&](std::uint32_t p) { return keys_[p] < key; });
  return static_cast<std::uint64_t>(at - positions_.begin());
}

std::uint64_t sorted_strings::count_prefix(std::string_view prefix) const {
  const auto first = positions_.begin() + static_cast<std::ptrdiff_t>(rank_of(prefix));
  const auto last =
      std::partition_point(first, positions_.end(), [&](std::uint32_t p) { return keys_[p].starts_with(prefix); });
  return static_cast<std::uint64_t>(last - first);
}

radix_data::radix_data(const byte_spec& spec, std::uint64_t keys)
    : generator_(spec), keys_(make_byte_keys(generator_, 0, keys)), values_(scalar_kind::u64, keys) {
  generate_values<std::uint64_t>(spec.seed, values_.as<std::uint64_t>());
}

const sorted_strings& radix_data::sorted() const {
  if (!sorted_) sorted_.emplace(keys_);
  return *sorted_;
}

radix_questions make_radix_questions(operation op, const radix_data& data, std::uint64_t n, double hit_rate) {
  const unsigned parts = op == operation::count_prefix ? 2 : 1;
  radix_questions q;
  q.numbers = draw_numbers(data, n, hit_rate);
  q.one_length = data.one_length() / parts;
  q.keys = make_byte_column(n, q.one_length, [&](std::uint64_t i, std::string& to) {
    const std::uint64_t number = q.numbers[i];
    if (number < data.keys().size()) {
      to += data.keys()[number];
    } else {
      data.generator().append(number, to);
    }
    to.resize(to.size() / parts);
  });
  return q;
}

answers make_radix_answers(operation op, std::size_t questions) {
  return make_answers(op, element_types, questions, 0);
}

answers expected_answers(operation op, const radix_data& data, const radix_questions& questions) {
  answers out = make_radix_answers(op, questions.size());
  if (op == operation::lower_bound || op == operation::count_prefix) {
    const sorted_strings& sorted = data.sorted();
    parallel_indices(questions.size(), [&](std::uint64_t i) {
      const std::string_view key = questions.keys[i];
      out[0].as<std::uint64_t>()[i] = op == operation::lower_bound ? sorted.rank_of(key) : sorted.count_prefix(key);
    });
    return out;
  }
  parallel_indices(questions.size(), [&](std::uint64_t i) {
    const std::uint64_t number = questions.numbers[i];
    const bool hit = number < data.keys().size();
    out.back().as<std::uint8_t>()[i] = hit ? 1 : 0;
    if (op == operation::find) out[0].as<std::uint64_t>()[i] = hit ? data.values().as<std::uint64_t>()[number] : 0;
  });
  return out;
}

std::optional<std::string> difference(operation op, const byte_column& keys, const answers& ours, const answers& theirs,
                                      const std::string& their_name, std::size_t first_questions) {
  return difference(op, element_types, {nullptr, nullptr, &keys}, ours, theirs, their_name, first_questions);
}

}  // namespace espalier::bench
