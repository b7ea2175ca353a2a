// radix_lists.cpp - see radix_lists.hpp.
#include "bench/index/radix/radix_lists.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "bench/data/generators.hpp"
#include "bench/data/random.hpp"

namespace espalier::bench {
namespace {

/// The maximum size of all results of one row: key, offset of the key, value.
constexpr std::uint64_t most_answer_bytes = std::uint64_t{1} << 31;

std::size_t common_bytes(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// Returns the length of the shortest prefix of the key of rank `r` that fewer than `length` keys on either side share.
std::size_t prefix_bytes(const sorted_strings& sorted, std::uint64_t r, std::uint64_t length) {
  std::size_t shared = 0;
  if (r >= length) shared = common_bytes(sorted[r - length], sorted[r]);
  if (r + length < sorted.size()) shared = std::max(shared, common_bytes(sorted[r], sorted[r + length]));
  return std::min(shared + 1, sorted[r].size());
}

std::uint64_t most_queries(const radix_data& data, std::uint64_t length) {
  const std::uint64_t keys = std::max<std::uint64_t>(data.keys().size(), 1);
  const std::uint64_t of_element = data.keys().bytes.size() / keys + 1 + 2 * sizeof(std::uint64_t);
  return std::max<std::uint64_t>(most_answer_bytes / of_element / std::max<std::uint64_t>(length, 1), 1);
}

void make_slices(operation op, const radix_data& data, std::uint64_t n, std::uint64_t length, radix_lists& q) {
  const sorted_strings& sorted = data.sorted();
  const std::uint64_t keys = sorted.size();
  const std::uint64_t seed = mix(data.generator().spec().seed ^ 0x6c697374u);
  if (keys == 0) n = 0;
  q.first.resize(n);
  q.last.resize(n);
  parallel_indices(n, [&](std::uint64_t i) { q.first[i] = below(random_bits(seed, i), keys); });
  if (op == operation::range) {
    parallel_indices(n, [&](std::uint64_t i) { q.last[i] = std::min(q.first[i] + length, keys); });
    q.one_length = data.one_length();
    const auto column_of = [&](const auto& rank_of) {
      return make_byte_column(n, q.one_length, [&](std::uint64_t i, std::string& to) { to += sorted[rank_of(i)]; });
    };
    q.lo = column_of([&](std::uint64_t i) { return q.first[i]; });
    q.hi = column_of([&](std::uint64_t i) { return q.last[i] - 1; });
    return;
  }
  q.lo = make_byte_column(n, 0, [&](std::uint64_t i, std::string& to) {
    to += sorted[q.first[i]].substr(0, prefix_bytes(sorted, q.first[i], length));
  });
  parallel_indices(n, [&](std::uint64_t i) {
    q.first[i] = sorted.rank_of(q.lo[i]);
    q.last[i] = q.first[i] + sorted.count_prefix(q.lo[i]);
  });
}

void make_successors(const radix_data& data, std::uint64_t n, double hit_rate, radix_lists& q) {
  radix_questions points = make_radix_questions(operation::successor, data, n, hit_rate);
  const sorted_strings& sorted = data.sorted();
  q.lo = std::move(points.keys);
  q.one_length = points.one_length;
  q.first.resize(n);
  q.last.resize(n);
  parallel_indices(n, [&](std::uint64_t i) {
    const bool there = points.numbers[i] < data.keys().size();
    q.first[i] = sorted.rank_of(q.lo[i]) + (there ? 1 : 0);
    q.last[i] = std::min(q.first[i] + 1, sorted.size());
  });
}

}  // namespace

std::uint64_t radix_lists::elements() const {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < first.size(); ++i) total += last[i] - first[i];
  return total;
}

radix_lists make_radix_lists(operation op, const radix_data& data, std::uint64_t n, std::uint64_t length,
                             double hit_rate) {
  if (length == 0) throw cli::bad_arguments("--range-length is '0': a range has one element at least.");
  radix_lists q;
  const std::uint64_t most = most_queries(data, op == operation::range    ? length
                                                : op == operation::prefix ? 2 * length
                                                                          : 1);
  if (most < n) {
    q.notes.push_back(fmt::format("{}: {} of {} queries, so that the answers fit into memory", name_of(op), most, n));
    n = most;
  }
  if (op == operation::successor) {
    make_successors(data, n, hit_rate, q);
  } else {
    make_slices(op, data, n, length, q);
  }
  return q;
}

std::optional<std::string> wrong_lists(operation op, const radix_data& data, const radix_lists& asked,
                                       const espalier::detail::byte_range_buffers& ours) {
  const std::uint64_t total = asked.elements();
  if (ours.total != total) {
    return fmt::format("{}: the tree lists {} elements, but there are {}.", name_of(op), ours.total, total);
  }
  const auto to_host = [](const raw_buffer& from, std::size_t bytes) {
    std::vector<char> to(bytes);
    if (bytes != 0) from.get_device().copy(to.data(), from.data(), bytes, from.order());
    if (bytes != 0) from.order().synchronize();
    return to;
  };
  const auto offsets = ours.offsets.to_vector(), places = ours.key_offsets.to_vector();
  const auto bytes = to_host(ours.key_bytes, ours.total_bytes);
  const auto values = to_host(ours.values, total * sizeof(std::uint64_t));
  const auto right = [&](std::uint64_t i) {
    if (offsets[i + 1] < offsets[i] || offsets[i + 1] - offsets[i] != asked.last[i] - asked.first[i]) return false;
    for (std::uint64_t rank = asked.first[i], e = offsets[i]; rank < asked.last[i]; ++rank, ++e) {
      std::uint64_t value = 0;
      std::memcpy(&value, values.data() + e * sizeof value, sizeof value);
      if (places[e + 1] < places[e] || places[e + 1] > bytes.size()) return false;
      const std::string_view key(bytes.data() + places[e], static_cast<std::size_t>(places[e + 1] - places[e]));
      if (key != data.sorted()[rank]) return false;
      if (value != data.values().as<const std::uint64_t>()[data.sorted().position(rank)]) return false;
    }
    return true;
  };
  if (offsets.size() != asked.size() + 1 || offsets.front() != 0 || offsets.back() != total) {
    return fmt::format("{}: the offsets of the answers are wrong.", name_of(op));
  }
  std::atomic<std::uint64_t> worst{std::numeric_limits<std::uint64_t>::max()};
  parallel_indices(asked.size(), [&](std::uint64_t i) {
    if (right(i)) return;
    std::uint64_t seen = worst.load();
    while (i < seen && !worst.compare_exchange_weak(seen, i)) {
    }
  });
  if (worst == std::numeric_limits<std::uint64_t>::max()) return {};
  return fmt::format("{}: query {} (key {:?}): the tree lists other elements than there are.", name_of(op),
                     worst.load(), asked.lo[worst]);
}

}  // namespace espalier::bench
