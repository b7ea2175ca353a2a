// point_suite.hpp - find, contains, bounds, neighbours and elements by rank agree with the oracle.
#pragma once

#include "conformance/subject.hpp"

namespace espalier::test {

template <class Key, class Value>
class point_suite : public tree_test<Key, Value> {
 protected:
  using base = tree_test<Key, Value>;
  using base::here;
  using typename base::slot;
  using typename base::subject_type;
  using typename base::tree_type;
  using mask = array<std::uint8_t>;
  using ranks = array<std::uint64_t>;

  // Each check asks twice: with the call that waits, and with its _async twin on a stream of our own. The second one
  // also searches nodes another way: hierarchically and, every other time, by the reference team. On a GPU that changes
  // nothing.
  static query_options asked_again(query_options options) {
    static unsigned turn = 0;
    options.search = ++turn % 2 == 0 ? node_search::hierarchical : node_search::sequential;
    return options;
  }

  static void check_find(const subject_type& s, const array<Key>& queries, query_options options = {}) {
    const auto& expected = s.expected();
    const auto want_found =
        s.template map<std::uint8_t>(queries, [&](Key q) { return static_cast<std::uint8_t>(expected.contains(q)); });
    array<slot> want_values(s.values_for(queries.size()));
    for (std::size_t i = 0; i < want_values.size(); ++i) {
      want_values[i] = want_found[i] != 0 ? expected.values()[expected.lower(queries[i])] : zero_bytes<slot>();
    }
    const query_options again = asked_again(options);
    for (const bool async : {false, true}) {
      lent<Key> in(here(), queries);
      lent<slot> values(here(), want_values.size());
      lent<std::uint8_t> found(here(), queries.size());
      lent<std::uint8_t> contained(here(), queries.size());
      if (async) {
        s.tree().find_async(in.in(), values.span(), found.span(), again, here().own);
        s.tree().contains_async(in.in(), contained.span(), again, here().own);
        here().own.synchronize();
      } else {
        s.tree().find(in.in(), values.span(), found.span(), options);
        s.tree().contains(in.in(), contained.span(), options);
      }
      expect_same("find found", found.get(), want_found);
      expect_same("find value", values.get(), want_values);
      expect_same("contains", contained.get(), want_found);
    }
  }

  static void check_ranks(const subject_type& s, const array<Key>& queries, query_options options = {}) {
    const auto want_lower = s.template map<std::uint64_t>(queries, [&](Key q) { return s.expected().lower(q); });
    const auto want_upper = s.template map<std::uint64_t>(queries, [&](Key q) { return s.expected().upper(q); });
    const query_options again = asked_again(options);
    for (const bool async : {false, true}) {
      lent<Key> in(here(), queries);
      lent<std::uint64_t> lower(here(), queries.size());
      lent<std::uint64_t> upper(here(), queries.size());
      if (async) {
        s.tree().rank_async(in.in(), lower.span(), bound_type::lower, again, here().own);
        s.tree().rank_async(in.in(), upper.span(), bound_type::upper, again, here().own);
        here().own.synchronize();
      } else {
        s.tree().rank(in.in(), lower.span(), bound_type::lower, options);
        s.tree().rank(in.in(), upper.span(), bound_type::upper, options);
      }
      expect_same("rank", lower.get(), want_lower);
      expect_same("upper rank", upper.get(), want_upper);
    }
  }

  /// Elements that a call left, against those at `want` ranks; size() stands for "none".
  static void expect_elements(const char* what, const subject_type& s, const ranks& want, const array<Key>& keys,
                              const array<slot>& values, const mask& found) {
    const auto& expected = s.expected();
    for (std::size_t i = 0; i < want.size(); ++i) {
      const bool exists = want[i] < expected.size();
      ASSERT_EQ(found[i], exists ? 1 : 0) << what << ", query " << i;
      if (!exists) continue;
      ASSERT_TRUE(same(keys[i], expected.keys()[want[i]])) << what << ": wrong key for query " << i;
      if (!values.empty()) {
        ASSERT_TRUE(same(values[i], expected.values()[want[i]])) << what << ": wrong value for query " << i;
      }
    }
  }

  static void check_neighbours(const subject_type& s, const array<Key>& queries, query_options options = {}) {
    const std::uint64_t none = s.expected().size();
    const auto at = s.template map<std::uint64_t>(queries, [&](Key q) { return s.expected().lower(q); });
    const auto after = s.template map<std::uint64_t>(queries, [&](Key q) { return s.expected().upper(q); });
    const auto before = s.template map<std::uint64_t>(queries, [&](Key q) {
      const std::uint64_t first = s.expected().lower(q);
      return first == 0 ? none : first - 1;
    });
    const query_options again = asked_again(options);
    lent<Key> in(here(), queries);
    const auto check = [&](const char* what, const ranks& want, auto call) {
      lent<Key> keys(here(), queries.size());
      lent<slot> values(here(), s.values_for(queries.size()));
      lent<std::uint8_t> found(here(), queries.size());
      call(keys.span(), values.span(), found.span());
      expect_elements(what, s, want, keys.get(), values.get(), found.get());
    };
    const auto& tree = s.tree();
    check("lower_bound", at, [&](auto k, auto v, auto f) { tree.lower_bound(in.in(), k, v, f, options); });
    check("upper_bound", after, [&](auto k, auto v, auto f) { tree.upper_bound(in.in(), k, v, f, options); });
    check("successor", after, [&](auto k, auto v, auto f) { tree.successor(in.in(), k, v, f, options); });
    check("predecessor", before, [&](auto k, auto v, auto f) { tree.predecessor(in.in(), k, v, f, options); });
    const auto& own = here().own;
    check("lower_bound_async", at, [&](auto k, auto v, auto f) {
      tree.lower_bound_async(in.in(), k, v, f, again, own);
      own.synchronize();
    });
    check("upper_bound_async", after, [&](auto k, auto v, auto f) {
      tree.upper_bound_async(in.in(), k, v, f, again, own);
      own.synchronize();
    });
    check("predecessor_async", before, [&](auto k, auto v, auto f) {
      tree.predecessor_async(in.in(), k, v, f, again, own);
      own.synchronize();
    });
  }

  static void check_select(const subject_type& s, std::size_t about) {
    const std::uint64_t n = s.expected().size();
    random_words random(n);
    ranks asked(about + 5);
    for (std::size_t i = 0; i < about; ++i) asked[i] = random.below(n + n / 8 + 1);
    asked[about] = 0;
    asked[about + 1] = n == 0 ? 0 : n - 1;
    asked[about + 2] = n;
    asked[about + 3] = n + 1;
    asked[about + 4] = ~std::uint64_t{0};
    for (const bool async : {false, true}) {
      lent<std::uint64_t> in(here(), asked);
      lent<Key> keys(here(), asked.size());
      lent<slot> values(here(), s.values_for(asked.size()));
      lent<std::uint8_t> found(here(), asked.size());
      if (async) {
        s.tree().select_async(in.in(), keys.span(), values.span(), found.span(), here().own);
        here().own.synchronize();
      } else {
        s.tree().select(in.in(), keys.span(), values.span(), found.span());
      }
      expect_elements("at", s, asked, keys.get(), values.get(), found.get());
      for (std::size_t i = 0; i < asked.size(); ++i) {
        if (asked[i] < n) continue;
        ASSERT_TRUE(same(keys.get()[i], zero_bytes<Key>())) << "at: a key beyond the end is not zero";
      }
    }
  }

  static void check_point_queries(const subject_type& s, const array<Key>& queries, query_options options = {}) {
    check_find(s, queries, options);
    check_ranks(s, queries, options);
    check_neighbours(s, queries, options);
  }

  /// Every plan and every promise, kept or broken, on batches in no order and in order.
  static void check_plans(const subject_type& s, std::size_t about) {
    array<Key> shuffled = make_queries(s.keys(), about);
    array<Key> sorted = shuffled;
    std::sort(sorted.begin(), sorted.end(), precedes<Key>);
    for (const query_plan how : {query_plan::automatic, query_plan::small, query_plan::scattered, query_plan::ordered,
                                 query_plan::sort_first, query_plan::partition_first}) {
      for (const batch_order order : {batch_order::unknown, batch_order::ascending, batch_order::random}) {
        SCOPED_TRACE(espalier::to_string(how) + ", order " + std::to_string(static_cast<int>(order)));
        check_point_queries(s, shuffled, {order, how});
        check_point_queries(s, sorted, {order, how});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
};

}  // namespace espalier::test
