// range_suite.hpp - counts, ranges and aggregates over ranges agree with the oracle, for every kind of interval.
#pragma once

#include <cmath>

#include "conformance/point_suite.hpp"
#include "support/rows.hpp"

namespace espalier::test {

inline constexpr interval all_intervals[] = {interval::closed, interval::right_open, interval::left_open,
                                             interval::open};

template <class Key, class Value>
class range_suite : public point_suite<Key, Value> {
 protected:
  using base = point_suite<Key, Value>;
  using base::can_sum;
  using base::here;
  using base::is_set;
  using typename base::ranks;
  using typename base::slot;
  using typename base::subject_type;
  using typename base::summand;
  using oracle_type = typename subject_type::oracle_type;

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
      b.lo[i] = i == 2 ? from_word<Key>(0) : lo;
      b.hi[i] = i == 2 ? from_word<Key>(largest_word<Key>()) : hi;
    }
    return b;
  }

  static std::vector<rank_range> expected_ranges(const subject_type& s, const bounds& b, range_options options) {
    std::vector<rank_range> ranges(b.size());
    for (std::size_t i = 0; i < b.size(); ++i) {
      ranges[i] = s.expected().range(b.lo[i], b.hi[i], options.ends);
      if (ranges[i].count() > options.limit) ranges[i].last = ranges[i].first + options.limit;
    }
    return ranges;
  }

  static void check_ranges(const subject_type& s, const bounds& b, range_options options) {
    const auto ranges = expected_ranges(s, b, options);
    ranks counts(b.size()), offsets(b.size() + 1);
    for (std::size_t i = 0; i < b.size(); ++i) {
      counts[i] = ranges[i].count();
      offsets[i + 1] = offsets[i] + counts[i];
    }
    const std::uint64_t total = offsets[b.size()];
    array<Key> keys(total);
    array<slot> values(s.values_for(total));
    for (std::size_t i = 0, out = 0; i < b.size(); ++i) {
      for (std::uint64_t rank = ranges[i].first; rank < ranges[i].last; ++rank, ++out) {
        keys[out] = s.expected().keys()[rank];
        if constexpr (!is_set) values[out] = s.expected().values()[rank];
      }
    }
    check_count(s, b, options, counts);
    check_range(s, b, options, offsets, keys, values);
    check_range_in_two_steps(s, b, options, offsets, keys, values);
    if (options.limit <= 300) {
      lent<Key> lo(here(), b.lo), hi(here(), b.hi);
      expect_rows<slot>(here(), s.tree(), lo, hi, options, offsets, keys, values);
    }
  }

  static void check_count(const subject_type& s, const bounds& b, range_options options, const ranks& want) {
    lent<Key> lo(here(), b.lo), hi(here(), b.hi);
    lent<std::uint64_t> counts(here(), b.size()), later(here(), b.size());
    s.tree().count(lo.in(), hi.in(), counts.span(), options);
    s.tree().count_async(lo.in(), hi.in(), later.span(), options, here().own);
    here().own.synchronize();
    expect_same("count", counts.get(), want);
    expect_same("count_async", later.get(), want);
  }

  static void check_range(const subject_type& s, const bounds& b, range_options options, const ranks& offsets,
                          const array<Key>& keys, const array<slot>& values) {
    lent<Key> lo(here(), b.lo), hi(here(), b.hi);
    const auto expect_ranges = [&](const auto& got) {
      expect_same("range offsets", to_host(here(), got.offsets), offsets);
      expect_same("range keys", to_host(here(), got.keys), keys);
      expect_same("range values", to_host(here(), got.values), values);
    };
    expect_ranges(s.tree().range(lo.in(), hi.in(), options));
    const auto later = s.tree().range_async(lo.in(), hi.in(), options, here().own);
    here().own.synchronize();
    expect_ranges(later);
  }

  static void check_range_in_two_steps(const subject_type& s, const bounds& b, range_options options, const ranks& want,
                                       const array<Key>& want_keys, const array<slot>& want_values) {
    lent<Key> lo(here(), b.lo), hi(here(), b.hi);
    lent<std::uint64_t> offsets(here(), want.size());
    lent<Key> keys(here(), want_keys.size());
    lent<slot> values(here(), want_values.size());
    s.tree().range_offsets_async(lo.in(), hi.in(), offsets.span(), options, here().own);
    s.tree().range_fill_async(lo.in(), offsets.in(), keys.span(), values.span(), options, here().own);
    here().own.synchronize();
    expect_same("range_offsets_async", offsets.get(), want);
    expect_same("range_fill_async keys", keys.get(), want_keys);
    expect_same("range_fill_async values", values.get(), want_values);
  }

  // ---- aggregates --------------------------------------------------------------------------------------------

  static void check_aggregates(const subject_type& s, const bounds& b, interval ends) {
    if constexpr (can_sum) {
      const auto ranges = expected_ranges(s, b, {ends});
      check_sums(s, b, ends, ranges);
      check_extremes(s, b, ends, ranges);
    }
  }

  /// A float sum may be rounded, but far less than by adding one by one. NaN stays NaN; where infinities or overflow
  /// are near, the answer depends on the order of additions and nothing is asked of it.
  static void expect_near(const char* what, double got, double want, long double magnitude, std::size_t query) {
    if (std::isnan(magnitude)) {
      EXPECT_TRUE(std::isnan(got)) << what << " of query " << query << " with a NaN in its range";
    } else if (magnitude < 0x1p1000L) {
      EXPECT_NEAR(got, want, static_cast<double>(magnitude) * 1e-13) << what << " of query " << query;
    }
  }

  static void check_sums(const subject_type& s, const bounds& b, interval ends, const std::vector<rank_range>& ranges) {
    using sum_type = typename base::tree_type::sum_type;
    const auto want = expected_sums<sum_type>(s, ranges);
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
      const auto& sum = sums.get();
      const auto& mean = means.get();
      for (std::size_t i = 0; i < b.size(); ++i) {
        check_sum_and_mean(want[i], ranges[i], sum[i], mean[i], i);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  /// Each once: long double is software on some machines, and ranges are long.
  template <class Sum>
  struct expected_sum {
    Sum sum = 0;
    long double magnitude = 0;
  };
  template <class Sum>
  static std::vector<expected_sum<Sum>> expected_sums(const subject_type& s, const std::vector<rank_range>& ranges) {
    std::vector<expected_sum<Sum>> want(ranges.size());
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      want[i].sum = s.expected().sum(ranges[i]);
      if constexpr (std::is_floating_point_v<Sum>) want[i].magnitude = s.expected().magnitude(ranges[i]);
    }
    return want;
  }

  template <class Sum>
  static void check_sum_and_mean(const expected_sum<Sum>& want, rank_range r, Sum sum, double mean, std::size_t query) {
    if (r.count() == 0) {
      ASSERT_TRUE(sum == 0) << "sum of an empty range, query " << query;
      ASSERT_TRUE(std::isnan(mean)) << "avg of an empty range, query " << query;
    } else if constexpr (std::is_floating_point_v<Sum>) {
      expect_near("sum", sum, want.sum, want.magnitude, query);
      expect_near("avg", mean, oracle_type::avg(r, want.sum), want.magnitude / static_cast<long double>(r.count()),
                  query);
    } else {
      ASSERT_TRUE(sum == want.sum) << "sum of query " << query;
      const double average = oracle_type::avg(r, want.sum);
      ASSERT_NEAR(mean, average, std::fabs(average) * 1e-14) << "avg of query " << query;
    }
  }

  static void check_extremes(const subject_type& s, const bounds& b, interval ends,
                             const std::vector<rank_range>& ranges) {
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
      const auto &least = minima.get(), &most = maxima.get();
      const auto &some = has_min.get(), &any = has_max.get();
      for (std::size_t i = 0; i < b.size(); ++i) {
        const std::uint8_t exists = ranges[i].count() != 0 ? 1 : 0;
        ASSERT_EQ(some[i], exists) << "min, query " << i;
        ASSERT_EQ(any[i], exists) << "max, query " << i;
        if (exists == 0) continue;
        ASSERT_TRUE(same(least[i], s.expected().min(ranges[i]))) << "min of query " << i;
        ASSERT_TRUE(same(most[i], s.expected().max(ranges[i]))) << "max of query " << i;
      }
    }
  }
};

}  // namespace espalier::test
