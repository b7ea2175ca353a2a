// oracle.hpp - the expected results: a stably sorted array and std::lower_bound, with an independent key order.
//
// It does not use the library's key codec, so that a wrong codec is detected. It defines the semantics:
//   order        -0.0 < +0.0; every NaN is equal to every other and greater than all other keys
//   equal keys   keep their input order; find returns the first
//   successor    first element with a strictly greater key; predecessor: last with a strictly smaller one
//   ranges       empty if the lower bound is above the upper bound
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <vector>

#include "espalier/core/config.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/index/options.hpp"
#include "espalier/index/result.hpp"
#include "support/array.hpp"

namespace espalier::test {

template <class Key>
[[nodiscard]] bool precedes(Key a, Key b) {
  if constexpr (std::is_floating_point_v<Key>) {
    if (std::isnan(a)) return false;
    if (std::isnan(b)) return true;
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

/// Returns whether two results are the same: equal bytes, or both NaN.
template <class T>
[[nodiscard]] bool same(const T& a, const T& b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) && std::isnan(b)) return true;
  }
  return std::memcmp(&a, &b, sizeof(T)) == 0;
}

template <class T>
[[nodiscard]] T zero_bytes() {
  T t{};
  std::memset(static_cast<void*>(&t), 0, sizeof(T));
  return t;
}

/// Returns the number that is summed for an element.
template <class T>
[[nodiscard]] auto number(const T& x) {
  if constexpr (requires { x.time_since_epoch(); }) {
    return x.time_since_epoch().count();
  } else if constexpr (requires { x.count(); }) {
    return x.count();
  } else {
    return x;
  }
}

/// Ranks [first, last).
struct rank_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  [[nodiscard]] std::uint64_t count() const { return last - first; }
};

template <class Key, class Value = void>
class oracle {
 public:
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  using summand = std::conditional_t<is_set, Key, slot>;

  oracle(const array<Key>& keys, const array<slot>& values) : keys_(keys.size()), values_(values.size()) {
    std::vector<std::size_t> order(keys.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return precedes(keys[a], keys[b]); });
    for (std::size_t i = 0; i < order.size(); ++i) {
      keys_[i] = keys[order[i]];
      if constexpr (!is_set) values_[i] = values[order[i]];
    }
  }

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] const array<Key>& keys() const { return keys_; }       ///< sorted
  [[nodiscard]] const array<slot>& values() const { return values_; }  ///< parallel to their keys; empty for a set

  [[nodiscard]] std::uint64_t lower(Key key) const {
    return static_cast<std::uint64_t>(std::lower_bound(keys_.begin(), keys_.end(), key, precedes<Key>) - keys_.begin());
  }
  [[nodiscard]] std::uint64_t upper(Key key) const {
    return static_cast<std::uint64_t>(std::upper_bound(keys_.begin(), keys_.end(), key, precedes<Key>) - keys_.begin());
  }
  [[nodiscard]] bool contains(Key key) const { return lower(key) != upper(key); }

  [[nodiscard]] rank_range range(Key lo, Key hi, interval ends) const {
    if (precedes(hi, lo)) return {};
    const bool with_lo = ends == interval::closed || ends == interval::right_open;
    const bool with_hi = ends == interval::closed || ends == interval::left_open;
    const std::uint64_t first = with_lo ? lower(lo) : upper(lo);
    const std::uint64_t last = with_hi ? upper(hi) : lower(hi);
    return last < first ? rank_range{} : rank_range{first, last};
  }

  [[nodiscard]] const summand& at(std::uint64_t rank) const {
    if constexpr (is_set) {
      return keys_[rank];
    } else {
      return values_[rank];
    }
  }

  /// Exact for integers. Floats are summed in long double and rounded once.
  [[nodiscard]] sum_of<summand> sum(rank_range r) const {
    if constexpr (std::is_floating_point_v<sum_of<summand>>) {
      return static_cast<double>(total<long double>(r));
    } else {
      return total<sum_of<summand>>(r);
    }
  }
  /// Returns the sum of magnitudes of floats, the reference for rounding errors.
  [[nodiscard]] long double magnitude(rank_range r) const {
    long double m = 0;
    for (std::uint64_t i = r.first; i < r.last; ++i) m += std::fabs(static_cast<long double>(number(at(i))));
    return m;
  }
  [[nodiscard]] double avg(rank_range r) const { return avg(r, sum(r)); }
  /// The same for a known sum.
  [[nodiscard]] static double avg(rank_range r, sum_of<summand> sum) {
    const long double n = static_cast<long double>(r.count());
    return static_cast<double>(static_cast<long double>(sum) / n);
  }
  [[nodiscard]] summand min(rank_range r) const {
    return *std::min_element(&at(r.first), &at(r.first) + r.count(), precedes<summand>);
  }
  [[nodiscard]] summand max(rank_range r) const {
    return *std::max_element(&at(r.first), &at(r.first) + r.count(), precedes<summand>);
  }

 private:
  template <class Total>
  [[nodiscard]] Total total(rank_range r) const {
    Total t = 0;
    for (std::uint64_t i = r.first; i < r.last; ++i) t = static_cast<Total>(t + static_cast<Total>(number(at(i))));
    return t;
  }

  array<Key> keys_;
  array<slot> values_;
};

}  // namespace espalier::test
