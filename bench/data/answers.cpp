// answers.cpp - the reference: expected results from sorted arrays, and comparison of results.
#include "bench/data/answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "bench/data/generators.hpp"
#include "bench/harness/element_checksum.hpp"
#include "bench/harness/options.hpp"

namespace espalier::bench {
namespace {

/// Long ranges are summed from block sums, which keeps the check of a million long ranges below a second.
constexpr std::uint64_t summed_block = 4096;

void merge(operation op, const running_aggregate& part, running_aggregate& into) {
  if (part.count == 0) return;
  into.exact += part.exact;
  into.real += part.real;
  const bool take = into.count == 0 || (op == operation::min ? part.best < into.best : part.best > into.best);
  if (take) into.best = part.best;
  into.count += part.count;
}

template <class T>
void accumulate_typed(operation op, std::span<const T> values, running_aggregate& into) {
  if (values.empty()) return;
  running_aggregate part;
  part.count = values.size();
  if (adds_up(op)) {
    if constexpr (std::is_floating_point_v<T>) {
      for (const T v : values) part.real += static_cast<double>(v);
    } else if constexpr (sizeof(T) == 4) {
      std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t> total = 0;
      for (const T v : values) total += v;
      part.exact = total;
    } else {
      for (const T v : values) part.exact += v;
    }
  } else {
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    part.best = key_codec<T>::encode(op == operation::min ? *low : *high);
  }
  merge(op, part, into);
}

std::vector<running_aggregate> block_aggregates(operation op, const column& values) {
  std::vector<running_aggregate> blocks((values.size() + summed_block - 1) / summed_block);
  tbb::parallel_for(std::size_t{0}, blocks.size(), [&](std::size_t b) {
    accumulate(op, values, b * summed_block, std::min<std::uint64_t>((b + 1) * summed_block, values.size()), blocks[b]);
  });
  return blocks;
}

void expect_aggregates(operation op, const workload& data, const range_set& ranges, const answers& out) {
  const column& values = data.summands();
  const auto blocks = block_aggregates(op, values);
  tbb::parallel_for(std::size_t{0}, ranges.size(), [&](std::size_t i) {
    running_aggregate total;
    std::uint64_t at = ranges.first[i];
    const std::uint64_t last = ranges.last[i];
    const std::uint64_t head = std::min(last, (at + summed_block - 1) / summed_block * summed_block);
    accumulate(op, values, at, head, total);
    for (at = head; at + summed_block <= last; at += summed_block) merge(op, blocks[at / summed_block], total);
    accumulate(op, values, at, last, total);
    store(op, values.kind(), total, out[0].data(), out.size() > 1 ? out[1].data() : nullptr, i);
  });
}

void expect_points(operation op, const workload& data, const query_set& queries, const answers& out) {
  if (op == operation::lower_bound) {
    std::copy(queries.ranks.begin(), queries.ranks.end(), out[0].as<std::uint64_t>().begin());
    return;
  }
  const column& mask = op == operation::contains ? out[0] : out[1];
  if (op != operation::contains && out[0].data() != nullptr) std::memset(out[0].data(), 0, out[0].byte_count());
  parallel_indices(queries.size(), [&](std::uint64_t i) {
    const std::uint64_t rank = queries.ranks[i];
    const bool hit = rank < data.sorted_keys.size() && same_element(queries.keys, i, data.sorted_keys, rank);
    mask.as<std::uint8_t>()[i] = hit ? 1 : 0;
    if (op != operation::contains && hit) copy_element(data.sorted_values, rank, out[0], i);
  });
}

void expect_ranges(const workload& data, const range_set& ranges, const answers& out) {
  const auto offsets = out[0].as<std::uint64_t>();
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    offsets[i] = total;
    total += ranges.last[i] - ranges.first[i];
  }
  offsets[ranges.size()] = total;
  parallel_indices(ranges.size(), [&](std::uint64_t i) {
    for (std::uint64_t j = ranges.first[i], to = offsets[i]; j < ranges.last[i]; ++j, ++to) {
      copy_element(data.sorted_keys, j, out[1], to);
      copy_element(data.sorted_values, j, out[2], to);
    }
  });
}

std::uint64_t checksum_of_column(const column& values) {
  if (values.data() == nullptr) return 0;
  return with_type(values.kind(), [&]<class T>() {
    std::uint64_t total = 0;
    for (const T v : values.as<const T>()) total += bits_of(v);
    return total;
  });
}

bool same(scalar_kind kind, operation op, const column& a, const column& b, std::uint64_t i) {
  if (adds_up(op) && kind == scalar_kind::f64) {
    const double x = a.as<double>()[i], y = b.as<double>()[i];
    return x == y || std::abs(x - y) <= 1e-9 * std::max(std::abs(x), std::abs(y)) || (std::isnan(x) && std::isnan(y));
  }
  return same_element(a, i, b, i);
}

/// Returns the number of elements of column `c` that answer the first `queries` queries.
std::uint64_t answered(operation op, const data_spec& spec, const answers& a, std::size_t c, std::size_t queries) {
  if (op == operation::range) return c == 0 ? queries + 1 : a[0].as<std::uint64_t>()[queries];
  if (op == operation::sum) return queries * sum_words(spec.value == no_value ? spec.key : spec.value);
  return queries;
}

/// Returns the query that element `at` of column `c` belongs to.
std::size_t query_of(operation op, const data_spec& spec, const answers& a, std::size_t c, std::uint64_t at) {
  if (op == operation::sum) return at / sum_words(spec.value == no_value ? spec.key : spec.value);
  if (op != operation::range || c == 0) return at;
  const auto offsets = a[0].as<std::uint64_t>();
  return static_cast<std::size_t>(std::upper_bound(offsets.begin(), offsets.end(), at) - offsets.begin()) - 1;
}

std::string query_text(const query_view& input, std::size_t i) {
  if (input.points != nullptr && i < input.size()) return "key " + text_of(input.points->keys, i);
  if (input.ranges != nullptr && i < input.size()) {
    return "range [" + text_of(input.ranges->lo, i) + ", " + text_of(input.ranges->hi, i) + "]";
  }
  if (input.strings != nullptr && i < input.size()) return fmt::format("key {:?}", (*input.strings)[i]);
  return "all elements";
}

std::optional<std::uint64_t> first_difference(operation op, const column& a, const column& b, std::uint64_t n) {
  if (a.data() == nullptr) return {};
  std::atomic<std::uint64_t> worst{std::numeric_limits<std::uint64_t>::max()};
  parallel_indices(n, [&](std::uint64_t i) {
    if (same(a.kind(), op, a, b, i)) return;
    std::uint64_t seen = worst.load();
    while (i < seen && !worst.compare_exchange_weak(seen, i)) {
    }
  });
  if (worst == std::numeric_limits<std::uint64_t>::max()) return {};
  return worst.load();
}

}  // namespace

std::uint64_t query_view::elements() const {
  std::uint64_t total = 0;
  if (ranges != nullptr) {
    for (std::size_t i = 0; i < ranges->size(); ++i) total += ranges->last[i] - ranges->first[i];
  }
  return total;
}

scalar_kind sum_kind(scalar_kind summand) {
  if (summand == scalar_kind::f32 || summand == scalar_kind::f64) return scalar_kind::f64;
  return summand == scalar_kind::i32 ? scalar_kind::i64 : scalar_kind::u64;
}

std::size_t sum_words(scalar_kind summand) {
  return summand == scalar_kind::u64 || summand == scalar_kind::i64 ? 2 : 1;
}

answers make_answers(operation op, const data_spec& spec, std::size_t queries, std::uint64_t elements) {
  const scalar_kind summand = spec.value == no_value ? spec.key : spec.value;
  answers out;
  const auto add = [&](scalar_kind kind, std::size_t size) { out.emplace_back(kind, size); };
  switch (op) {
    case operation::find:
    case operation::find_sorted:
    case operation::find_after_insert:
      add(spec.value, queries);
      add(scalar_kind::u8, queries);
      break;
    case operation::contains:
      add(scalar_kind::u8, queries);
      break;
    case operation::lower_bound:
    case operation::count:
    case operation::count_prefix:
      add(scalar_kind::u64, queries);
      break;
    case operation::range:
      add(scalar_kind::u64, queries + 1);
      add(spec.key, elements);
      add(spec.value, elements);
      break;
    case operation::sum:
      add(sum_kind(summand), queries * sum_words(summand));
      break;
    case operation::min:
    case operation::max:
      add(summand, queries);
      add(scalar_kind::u8, queries);
      break;
    case operation::avg:
      add(scalar_kind::f64, queries);
      break;
    default:
      break;  // build, visit and writes; see blink_script.hpp
  }
  return out;
}

answers columns_like(const answers& from) {
  answers out;
  for (const auto& c : from) out.emplace_back(c.kind(), c.size());
  return out;
}

void accumulate(operation op, const column& values, std::uint64_t first, std::uint64_t last, running_aggregate& into) {
  with_type(values.kind(),
            [&]<class T>() { accumulate_typed<T>(op, values.as<const T>().subspan(first, last - first), into); });
}

void accumulate_bits(operation op, scalar_kind kind, std::uint64_t bits, running_aggregate& into) {
  with_type(kind, [&]<class T>() {
    T value;
    std::memcpy(&value, &bits, sizeof(T));
    accumulate_typed<T>(op, std::span<const T>(&value, 1), into);
  });
}

void store(operation op, scalar_kind summand, const running_aggregate& result, void* out, void* found, std::size_t i) {
  if (op == operation::sum) {
    const std::size_t bytes = 8 * sum_words(summand);
    const void* from = &result.exact;
    if (sum_kind(summand) == scalar_kind::f64) from = &result.real;
    std::memcpy(static_cast<std::byte*>(out) + i * bytes, from, bytes);
    return;
  }
  if (op == operation::avg) {
    const bool floats = sum_kind(summand) == scalar_kind::f64;
    const double total = floats ? result.real : static_cast<double>(result.exact);
    static_cast<double*>(out)[i] =
        result.count == 0 ? std::numeric_limits<double>::quiet_NaN() : total / static_cast<double>(result.count);
    return;
  }
  std::uint64_t raw = 0;
  if (result.count != 0) {
    raw = bytes_of(summand) == 4 ? decode_bits(summand, static_cast<std::uint32_t>(result.best))
                                 : decode_bits(summand, result.best);
  }
  store_bits<std::uint64_t>(summand, out, i, raw);
  static_cast<std::uint8_t*>(found)[i] = result.count != 0 ? 1 : 0;
}

answers expected_answers(operation op, const workload& data, const query_view& queries) {
  answers out = make_answers(op, data.spec, queries.size(), op == operation::range ? queries.elements() : 0);
  if (op == operation::count) {
    for (std::size_t i = 0; i < queries.size(); ++i) {
      out[0].as<std::uint64_t>()[i] = queries.ranges->last[i] - queries.ranges->first[i];
    }
  } else if (op == operation::range) {
    expect_ranges(data, *queries.ranges, out);
  } else if (takes_ranges(op)) {
    expect_aggregates(op, data, *queries.ranges, out);
  } else if (!takes_no_queries(op)) {
    expect_points(op, data, *queries.points, out);
  }
  return out;
}

std::optional<std::string> difference(operation op, const data_spec& spec, const query_view& input, const answers& ours,
                                      const answers& theirs, const std::string& their_name, std::size_t queries,
                                      const std::string& our_name) {
  for (std::size_t c = 0; c < ours.size(); ++c) {
    const std::uint64_t n = answered(op, spec, theirs, c, queries);
    if (const auto at = first_difference(op, ours[c], theirs[c], n)) {
      const std::size_t query = query_of(op, spec, theirs, c, *at);
      return fmt::format("{}: query {} ({}): {} answers {}, {} answers {} (output {}, element {}).", name_of(op), query,
                         query_text(input, query), our_name, text_of(ours[c], *at), their_name, text_of(theirs[c], *at),
                         c, *at);
    }
  }
  return {};
}

std::uint64_t checksum_of(const workload& data) {
  return checksum_of_column(data.keys) + checksum_of_column(data.values);
}

answers expected_neighbours(operation op, const workload& data, const query_set& queries) {
  answers out;
  out.emplace_back(data.spec.key, queries.size());
  out.emplace_back(data.spec.value, queries.size());
  out.emplace_back(scalar_kind::u8, queries.size());
  for (const auto& c : out) {
    if (c.byte_count() != 0) std::memset(c.data(), 0, c.byte_count());
  }
  parallel_indices(queries.size(), [&](std::uint64_t i) {
    std::uint64_t rank = queries.ranks[i];  // rank of the lower bound; below 0 it wraps around
    if (op == operation::predecessor) --rank;
    if (op == operation::successor && rank < data.sorted_keys.size() &&
        same_element(queries.keys, i, data.sorted_keys, rank))
      ++rank;
    if (rank >= data.sorted_keys.size()) return;
    copy_element(data.sorted_keys, rank, out[0], i);
    copy_element(data.sorted_values, rank, out[1], i);
    out[2].as<std::uint8_t>()[i] = 1;
  });
  return out;
}

void require_right(operation op, const data_spec& spec, const query_view& input, const answers& ours,
                   const answers& expected) {
  if (auto wrong = difference(op, spec, input, ours, expected, "the reference", input.size())) {
    throw cli::wrong_answer(*wrong);
  }
}

}  // namespace espalier::bench
