// range_suite.hpp - counts, ranges and aggregates agree with the model, for every kind of interval.
#pragma once

#include <cmath>
#include <limits>

#include "blink_conformance/point_suite.hpp"
#include "support/rows.hpp"

namespace espalier::test {

inline constexpr interval every_interval[] = {interval::closed, interval::right_open, interval::left_open,
                                              interval::open};

template <class Key, class Value, class Policy>
class blink_range_suite : public blink_point_suite<Key, Value, Policy> {
 protected:
  using base = blink_point_suite<Key, Value, Policy>;
  using base::can_sum;
  using base::here;
  using base::is_set;
  using typename base::oracle_type;
  using typename base::ranks;
  using typename base::slot;
  using typename base::subject_type;
  using typename base::summand;
  using typename base::tree_type;

  struct bounds {
    array<Key> lo, hi;
    [[nodiscard]] std::size_t size() const { return lo.size(); }
  };

  /// Pairs in and against the order, pairs of equal ends, and everything.
  static bounds make_bounds(const array<Key>& keys, std::size_t about) {
    const array<Key> queries = make_queries(keys, about);
    bounds b{array<Key>(about), array<Key>(about)};
    random_words random(keys.size());
    for (std::size_t i = 0; i < about; ++i) {
      Key lo = queries[random.below(queries.size())];
      Key hi = i % 8 == 0 ? lo : queries[random.below(queries.size())];
      if (i % 8 != 1 && precedes(hi, lo)) std::swap(lo, hi);
      b.lo[i] = i == 2 ? lowest_key<Key>() : lo;
      b.hi[i] = i == 2 ? highest_key<Key>() : hi;
    }
    return b;
  }

  static void check_ranges(const subject_type& s, std::size_t about) {
    const oracle_type expected = s.model().expected();
    const bounds b = make_bounds(expected.keys(), about);
    for (const interval ends : every_interval) {
      SCOPED_TRACE(espalier::to_string(ends));
      check_ranges(s, expected, b, {ends});
      for (const std::uint64_t limit : {0u, 1u, 3u, 30u}) check_ranges(s, expected, b, {ends, limit});
      if constexpr (can_sum) {
        check_sums(s, expected, b, ends);
        check_extremes(s, expected, b, ends);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  static void check_ranges(const subject_type& s, const oracle_type& expected, const bounds& b,
                           const range_options& options) {
    ranks counts(b.size()), offsets(b.size() + 1);
    std::vector<Key> keys;
    std::vector<slot> values;
    for (std::size_t i = 0; i < b.size(); ++i) {
      const rank_range r = expected.range(b.lo[i], b.hi[i], options.ends);
      counts[i] = std::min(r.count(), options.limit);
      offsets[i + 1] = offsets[i] + counts[i];
      for (std::uint64_t rank = r.first; rank < r.first + counts[i]; ++rank) {
        keys.push_back(expected.keys()[rank]);
        if constexpr (!is_set) values.push_back(expected.values()[rank]);
      }
    }
    lent<Key> lo(here(), b.lo), hi(here(), b.hi);
    lent<std::uint64_t> now(here(), b.size()), later(here(), b.size());
    s.tree().count(lo.in(), hi.in(), now.span(), options);
    s.tree().count_async(lo.in(), hi.in(), later.span(), options, here().own);
    here().own.synchronize();
    expect_same("count", now.get(), counts);
    expect_same("count_async", later.get(), counts);
    const auto expect_ranges = [&](const auto& got) {
      expect_same("range offsets", to_host(here(), got.offsets), offsets);
      expect_same("range keys", to_host(here(), got.keys), array<Key>(std::span<const Key>(keys)));
      expect_same("range values", to_host(here(), got.values), array<slot>(std::span<const slot>(values)));
    };
    expect_ranges(s.tree().range(lo.in(), hi.in(), options));
    const auto later_ranges = s.tree().range_async(lo.in(), hi.in(), options, here().own);
    here().own.synchronize();
    expect_ranges(later_ranges);
    if (options.limit <= 30) expect_rows<slot>(here(), s.tree(), lo, hi, options, offsets, keys, values);
  }

  // ---- aggregates ----------------------------------------------------------------------------------------

  /// A float sum may be rounded once per element. NaN stays NaN; where infinities or overflow are near, the answer
  /// depends on the order of additions and nothing is asked of it.
  static void expect_near(const char* what, double got, double want, long double magnitude, std::uint64_t n,
                          std::size_t query) {
    if (std::isnan(magnitude)) {
      EXPECT_TRUE(std::isnan(got)) << what << " of query " << query << " with a NaN in its range";
    } else if (magnitude < 0x1p1000L) {
      EXPECT_NEAR(got, want, static_cast<double>(magnitude) * 0x1p-52 * static_cast<double>(n + 1))
          << what << " of query " << query;
    }
  }

  static void check_sums(const subject_type& s, const oracle_type& expected, const bounds& b, interval ends) {
    using sum_type = typename tree_type::sum_type;
    for (const bool async : {false, true}) {
      lent<Key> lo(here(), b.lo), hi(here(), b.hi);
      lent<sum_type> sums(here(), b.size());
      lent<double> means(here(), b.size());
      if (async) {
        s.tree().sum_async(lo.in(), hi.in(), sums.span(), ends, here().own);
        s.tree().avg_async(lo.in(), hi.in(), means.span(), ends, here().own);
        here().own.synchronize();
      } else {
        s.tree().sum(lo.in(), hi.in(), sums.span(), ends);
        s.tree().avg(lo.in(), hi.in(), means.span(), ends);
      }
      const array<sum_type>& sum = sums.get();
      const array<double>& mean = means.get();
      for (std::size_t i = 0; i < b.size(); ++i) {
        check_sum_and_mean(expected, expected.range(b.lo[i], b.hi[i], ends), sum[i], mean[i], i);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  template <class Sum>
  static void check_sum_and_mean(const oracle_type& expected, rank_range r, Sum sum, double mean, std::size_t query) {
    if (r.count() == 0) {
      ASSERT_TRUE(sum == 0) << "sum of an empty range, query " << query;
      ASSERT_TRUE(std::isnan(mean)) << "avg of an empty range, query " << query;
      return;
    }
    const Sum want = expected.sum(r);
    const double average = expected.avg(r);
    if constexpr (std::is_floating_point_v<Sum>) {
      const long double magnitude = expected.magnitude(r);
      expect_near("sum", sum, want, magnitude, r.count(), query);
      expect_near("avg", mean, average, magnitude / static_cast<long double>(r.count()), r.count(), query);
    } else {
      ASSERT_TRUE(sum == want) << "sum of query " << query;
      ASSERT_NEAR(mean, average, std::fabs(average) * 1e-14) << "avg of query " << query;
    }
  }

  static void check_extremes(const subject_type& s, const oracle_type& expected, const bounds& b, interval ends) {
    for (const bool async : {false, true}) {
      lent<Key> lo(here(), b.lo), hi(here(), b.hi);
      lent<summand> minima(here(), b.size()), maxima(here(), b.size());
      lent<std::uint8_t> has_min(here(), b.size()), has_max(here(), b.size());
      if (async) {
        s.tree().min_async(lo.in(), hi.in(), minima.span(), has_min.span(), ends, here().own);
        s.tree().max_async(lo.in(), hi.in(), maxima.span(), has_max.span(), ends, here().own);
        here().own.synchronize();
      } else {
        s.tree().min(lo.in(), hi.in(), minima.span(), has_min.span(), ends);
        s.tree().max(lo.in(), hi.in(), maxima.span(), has_max.span(), ends);
      }
      const array<summand>&least = minima.get(), &most = maxima.get();
      const array<std::uint8_t>&some = has_min.get(), &any = has_max.get();
      for (std::size_t i = 0; i < b.size(); ++i) {
        const rank_range r = expected.range(b.lo[i], b.hi[i], ends);
        const std::uint8_t exists = r.count() != 0 ? 1 : 0;
        ASSERT_EQ(some[i], exists) << "min, query " << i;
        ASSERT_EQ(any[i], exists) << "max, query " << i;
        if (exists == 0) continue;
        ASSERT_TRUE(same(least[i], expected.min(r))) << "min of query " << i;
        ASSERT_TRUE(same(most[i], expected.max(r))) << "max of query " << i;
      }
    }
  }
};

}  // namespace espalier::test
