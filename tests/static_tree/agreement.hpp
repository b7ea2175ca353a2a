// agreement.hpp - every operation of a small tree against the oracle, told as a sentence: for RapidCheck, which
// shrinks whatever makes the sentence not empty.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "support/oracle.hpp"

namespace espalier::test {

/// What is asked of a tree: each query is a key and, with the next one, a range.
template <class Key>
struct questions {
  array<Key> keys;
  query_options how;
  range_options ranges;
};

template <class Key, class Value>
class agreement {
 public:
  agreement(const array<Key>& keys, const array<Value>& values, const build_options& options, const device& dev)
      : expected_(keys, values), tree_(static_tree<Key, Value>::build(keys.span(), values.span(), options, dev)) {}

  /// The first difference found, or nothing.
  [[nodiscard]] std::string first_difference(const questions<Key>& q) const {
    if (const validation v = tree_.validate(); !v.ok) return v.problem;
    for (const auto& check : {&agreement::points, &agreement::neighbours, &agreement::ranges, &agreement::sums}) {
      if (std::string problem = (this->*check)(q); !problem.empty()) return problem;
    }
    return {};
  }

 private:
  using mask = array<std::uint8_t>;
  using ranks = array<std::uint64_t>;
  static std::string at(const char* what, std::size_t i) {
    return std::string(what) + " of query " + std::to_string(i);
  }

  [[nodiscard]] std::string points(const questions<Key>& q) const {
    const std::size_t n = q.keys.size();
    array<Value> values(n);
    mask found(n), contained(n);
    ranks lower(n), upper(n);
    tree_.find(q.keys.span(), values.span(), found.span(), q.how);
    tree_.contains(q.keys.span(), contained.span(), q.how);
    tree_.rank(q.keys.span(), lower.span(), bound_type::lower, q.how);
    tree_.rank(q.keys.span(), upper.span(), bound_type::upper, q.how);
    for (std::size_t i = 0; i < n; ++i) {
      const Key key = q.keys[i];
      const bool exists = expected_.contains(key);
      if ((found[i] != 0) != exists) return at("find mask", i);
      if (contained[i] != found[i]) return at("contains", i);
      if (lower[i] != expected_.lower(key)) return at("lower_bound", i);
      if (upper[i] != expected_.upper(key)) return at("upper_bound", i);
      const Value want = exists ? expected_.values()[expected_.lower(key)] : zero_bytes<Value>();
      if (!same(values[i], want)) return at("find value", i);
    }
    return {};
  }

  [[nodiscard]] std::string neighbours(const questions<Key>& q) const {
    const std::size_t n = q.keys.size();
    array<Key> next(n), last(n);
    array<Value> next_value(n), last_value(n);
    mask has_next(n), has_last(n);
    tree_.successor(q.keys.span(), next.span(), next_value.span(), has_next.span(), q.how);
    tree_.predecessor(q.keys.span(), last.span(), last_value.span(), has_last.span(), q.how);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t after = expected_.upper(q.keys[i]), from = expected_.lower(q.keys[i]);
      if ((has_next[i] != 0) != (after < expected_.size())) return at("successor mask", i);
      if ((has_last[i] != 0) != (from > 0)) return at("predecessor mask", i);
      if (has_next[i] != 0 && !is_element(after, next[i], next_value[i])) return at("successor", i);
      if (has_last[i] != 0 && !is_element(from - 1, last[i], last_value[i])) return at("predecessor", i);
    }
    return {};
  }
  [[nodiscard]] bool is_element(std::uint64_t rank, Key key, Value value) const {
    return same(key, expected_.keys()[rank]) && same(value, expected_.values()[rank]);
  }

  [[nodiscard]] std::string ranges(const questions<Key>& q) const {
    const auto [lo, hi] = ends(q);
    const auto got = tree_.range(lo.span(), hi.span(), q.ranges);
    const auto offsets = got.offsets.to_vector();
    const auto keys = got.keys.to_vector();
    const auto values = got.values.to_vector();
    ranks counts(lo.size());
    tree_.count(lo.span(), hi.span(), counts.span(), q.ranges);
    if (offsets.size() != lo.size() + 1) return "the number of offsets";
    for (std::size_t i = 0; i < lo.size(); ++i) {
      const rank_range r = expected_.range(lo[i], hi[i], q.ranges.ends);
      const std::uint64_t want = std::min<std::uint64_t>(r.count(), q.ranges.limit);
      if (counts[i] != want) return at("count", i);
      if (offsets[i + 1] - offsets[i] != want) return at("range length", i);
      for (std::uint64_t j = 0; j < want; ++j) {
        if (!is_element(r.first + j, keys[offsets[i] + j], values[offsets[i] + j])) return at("range element", i);
      }
    }
    return {};
  }

  [[nodiscard]] std::string sums(const questions<Key>& q) const {
    const auto [lo, hi] = ends(q);
    const std::size_t n = lo.size();
    array<typename static_tree<Key, Value>::sum_type> sum(n);
    array<double> mean(n);
    array<Value> least(n), most(n);
    mask some(n), any(n);
    const interval kind = q.ranges.ends;
    tree_.sum(lo.span(), hi.span(), sum.span(), kind);
    tree_.avg(lo.span(), hi.span(), mean.span(), kind);
    tree_.min(lo.span(), hi.span(), least.span(), some.span(), kind);
    tree_.max(lo.span(), hi.span(), most.span(), any.span(), kind);
    for (std::size_t i = 0; i < n; ++i) {
      const rank_range r = expected_.range(lo[i], hi[i], kind);
      if (!close(sum[i], expected_.sum(r), expected_.magnitude(r))) return at("sum", i);
      if ((some[i] != 0) != (r.count() != 0) || any[i] != some[i]) return at("min or max mask", i);
      if (r.count() == 0) {
        if (!std::isnan(mean[i])) return at("avg of nothing", i);
        continue;
      }
      const auto spread = expected_.magnitude(r) / static_cast<long double>(r.count());
      if (!close(mean[i], expected_.avg(r), spread)) return at("avg", i);
      if (!same(least[i], expected_.min(r))) return at("min", i);
      if (!same(most[i], expected_.max(r))) return at("max", i);
    }
    return {};
  }
  template <class T>
  static bool close(T got, T want, long double magnitude) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(got - want) <= static_cast<double>(magnitude) * 1e-13;
    } else {
      return got == want;
    }
  }

  struct both_ends {
    array<Key> lo, hi;
  };
  static both_ends ends(const questions<Key>& q) {
    both_ends e{q.keys, q.keys};
    if (!q.keys.empty()) std::rotate(e.hi.begin(), e.hi.begin() + 1, e.hi.end());
    return e;
  }

  oracle<Key, Value> expected_;
  static_tree<Key, Value> tree_;
};

}  // namespace espalier::test
