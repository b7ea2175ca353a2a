// blink_data.hpp - data for a tree that is updated: distinct keys of one distribution, in the tree and not in it yet,
// with values derived from their keys, so that every result can be checked for any order of writes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "bench/data/generators.hpp"
#include "bench/data/workload.hpp"

namespace espalier::bench {

struct blink_data {
  workload tree;
  column fresh_keys, fresh_values;  ///< in the order of their insertion
  column arrivals, arrival_values;  ///< mesh: the tree's keys in arrival order, including duplicates; otherwise empty

  [[nodiscard]] const column& incoming_keys() const { return arrivals.size() != 0 ? arrivals : tree.keys; }
  [[nodiscard]] const column& incoming_values() const { return arrivals.size() != 0 ? arrival_values : tree.values; }
};

/// Returns spec.keys keys for the tree and `fresh` more. Throws bad_arguments if the distribution does not have that
/// many.
[[nodiscard]] blink_data make_blink_data(const data_spec& spec, std::uint64_t fresh);

/// Returns the values of these keys; each generation has different values.
[[nodiscard]] column values_of(const column& keys, const data_spec& spec, unsigned generation);

/// Returns the tree's elements and the first n fresh ones.
[[nodiscard]] workload with_inserted(const blink_data& data, std::size_t n);
/// Returns the first n elements of a column, and of a followed by b.
[[nodiscard]] column first_of(const column& from, std::size_t n);
[[nodiscard]] column joined(const column& a, const column& b);

/// Selects one of n keys for request i.
class requester {
 public:
  requester(request_order how, std::uint64_t n, std::uint64_t seed)
      : how_(how),
        size_(n),
        seed_(mix(seed ^ 0x61736b73u)),
        ranks_(how == request_order::zipf ? n : 0),
        scattered_(n, seed) {}
  /// Requires n > 0.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const {
    switch (how_) {
      case request_order::zipf:
        return scattered_(ranks_(random_bits(seed_, i)));
      case request_order::in_order:
        return i % size_;
      case request_order::normal:
        return below(detail::normal_fraction(random_bits(seed_, i)), size_);
      case request_order::gamma:
        return below(detail::gamma_fraction(random_bits(seed_, i)), size_);
      default:
        return below(random_bits(seed_, i), size_);
    }
  }

 private:
  request_order how_;
  std::uint64_t size_;
  std::uint64_t seed_;
  zipf_ranks ranks_;
  permutation scattered_;
};

/// Returns point queries, `hit_rate` of them for keys of `data` (in_order: those of `incoming`) and the others for
/// random keys.
[[nodiscard]] query_set make_requests(const workload& data, const column& incoming, std::size_t n, request_order how,
                                      double hit_rate);

}  // namespace espalier::bench
