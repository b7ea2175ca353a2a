// point_suite.hpp - find, contains and the three neighbours agree with the model.
#pragma once

#include "support/blink_subject.hpp"

namespace espalier::test {

/// A test of one tree type in one setting.
template <class Key, class Value, class Policy>
class blink_point_suite : public testing::TestWithParam<const setting*> {
 protected:
  using subject_type = blink_subject<Key, Value, Policy>;
  using tree_type = typename subject_type::tree_type;
  using oracle_type = oracle<Key, Value>;
  using slot = typename subject_type::slot;
  using summand = typename subject_type::summand;
  using mask = typename subject_type::mask;
  using ranks = array<std::uint64_t>;
  static constexpr bool is_set = subject_type::is_set;
  static constexpr bool can_sum = subject_type::can_sum;
  static constexpr unsigned slots =
      Policy::slots == 0 ? 14 : Policy::slots;  ///< about: where boundaries are looked for

  [[nodiscard]] static const setting& here() { return *GetParam(); }
  using testing::TestWithParam<const setting*>::GetParam;

  static void check_points(const subject_type& s, std::size_t about) {
    const oracle_type expected = s.model().expected();
    const array<Key> queries = make_queries(expected.keys(), about);
    for (const bool async : {false, true}) {
      check_find(s, expected, queries, async);
      check_neighbours(s, expected, queries, async);
      if (testing::Test::HasFatalFailure()) return;
    }
    check_optional_outputs(s, expected, queries);
  }

  static void check_find(const subject_type& s, const oracle_type& expected, const array<Key>& queries, bool async) {
    const std::size_t n = queries.size();
    ranks want(n);
    for (std::size_t i = 0; i < n; ++i) {
      want[i] = expected.contains(queries[i]) ? expected.lower(queries[i]) : expected.size();
    }
    lent<Key> in(here(), queries);
    lent<slot> values(here(), s.values_for(n));
    lent<std::uint8_t> found(here(), n), contained(here(), n);
    if (async) {
      s.tree().find_async(in.in(), values.span(), found.span(), here().own);
      s.tree().contains_async(in.in(), contained.span(), here().own);
      here().own.synchronize();
    } else {
      s.tree().find(in.in(), values.span(), found.span());
      s.tree().contains(in.in(), contained.span());
    }
    expect_elements("find", expected, want, {}, values.get(), found.get());
    expect_elements("contains", expected, want, {}, {}, contained.get());
    check_find_by_plan(s, expected, queries, want, async);
  }

  static void check_find_by_plan(const subject_type& s, const oracle_type& expected, const array<Key>& queries,
                                 const ranks& want, bool async) {
    const std::size_t n = queries.size();
    for (const query_plan how : {query_plan::scattered, query_plan::partition_first}) {
      const query_options options{batch_order::unknown, how};
      lent<Key> in(here(), queries);
      lent<slot> values(here(), s.values_for(n));
      lent<std::uint8_t> found(here(), n), contained(here(), n);
      if (async) {
        s.tree().find_async(in.in(), values.span(), found.span(), options, here().own);
        s.tree().contains_async(in.in(), contained.span(), options, here().own);
        here().own.synchronize();
      } else {
        s.tree().find(in.in(), values.span(), found.span(), options, {});
        s.tree().contains(in.in(), contained.span(), options, {});
      }
      expect_elements("find by plan", expected, want, {}, values.get(), found.get());
      expect_elements("contains by plan", expected, want, {}, {}, contained.get());
    }
  }

  static void check_neighbours(const subject_type& s, const oracle_type& expected, const array<Key>& queries,
                               bool async) {
    const std::size_t n = queries.size();
    ranks first(n), next(n), last(n);
    for (std::size_t i = 0; i < n; ++i) {
      first[i] = expected.lower(queries[i]);
      next[i] = expected.upper(queries[i]);
      last[i] = first[i] == 0 ? expected.size() : first[i] - 1;
    }
    check_seek(
        "lower_bound", [](const tree_type& t, auto... all) { t.lower_bound(all...); },
        [](const tree_type& t, auto... all) { t.lower_bound_async(all...); }, s, expected, queries, first, async);
    check_seek(
        "upper_bound", [](const tree_type& t, auto... all) { t.upper_bound(all...); },
        [](const tree_type& t, auto... all) { t.upper_bound_async(all...); }, s, expected, queries, next, async);
    check_seek(
        "successor", [](const tree_type& t, auto... all) { t.successor(all...); },
        [](const tree_type& t, auto... all) { t.successor_async(all...); }, s, expected, queries, next, async);
    check_seek(
        "predecessor", [](const tree_type& t, auto... all) { t.predecessor(all...); },
        [](const tree_type& t, auto... all) { t.predecessor_async(all...); }, s, expected, queries, last, async);
  }

  template <class Wait, class Enqueue>
  static void check_seek(const char* what, Wait wait, Enqueue enqueue, const subject_type& s,
                         const oracle_type& expected, const array<Key>& queries, const ranks& want, bool async) {
    const std::size_t n = queries.size();
    lent<Key> in(here(), queries), keys(here(), n);
    lent<slot> values(here(), s.values_for(n));
    lent<std::uint8_t> found(here(), n);
    const stream order = async ? here().own : stream{};
    if (async) {
      enqueue(s.tree(), in.in(), keys.span(), values.span(), found.span(), order);
    } else {
      wait(s.tree(), in.in(), keys.span(), values.span(), found.span(), order);
    }
    if (async) here().own.synchronize();
    expect_elements(what, expected, want, keys.get(), values.get(), found.get());
  }

  /// Elements that a call left, against those at `want` ranks; size() stands for "none", which leaves zero bytes.
  static void expect_elements(const char* what, const oracle_type& expected, const ranks& want, const array<Key>& keys,
                              const array<slot>& values, const mask& found) {
    for (std::size_t i = 0; i < want.size(); ++i) {
      const bool exists = want[i] < expected.size();
      ASSERT_EQ(found[i], exists ? 1 : 0) << what << ", query " << i << " of " << want.size();
      if (!keys.empty()) {
        const Key key = exists ? expected.keys()[want[i]] : zero_bytes<Key>();
        ASSERT_TRUE(same(keys[i], key)) << what << ": key of query " << i << " is " << testing::PrintToString(keys[i])
                                        << " and should be " << testing::PrintToString(key);
      }
      if (!values.empty()) {
        const slot value = exists ? expected.values()[want[i]] : zero_bytes<slot>();
        ASSERT_TRUE(same(values[i], value)) << what << ": value of query " << i;
      }
    }
  }

  /// Each output may be left out.
  static void check_optional_outputs(const subject_type& s, const oracle_type& expected, const array<Key>& queries) {
    const std::size_t n = queries.size();
    lent<Key> in(here(), queries), keys(here(), n);
    lent<slot> values(here(), s.values_for(n));
    lent<std::uint8_t> found(here(), n);
    ranks there(n), next(n);
    mask want_found(n), want_next(n);
    for (std::size_t i = 0; i < n; ++i) {
      want_found[i] = expected.contains(queries[i]) ? 1 : 0;
      there[i] = want_found[i] != 0 ? expected.lower(queries[i]) : expected.size();
      next[i] = expected.upper(queries[i]);
      want_next[i] = next[i] < expected.size() ? 1 : 0;
    }
    s.tree().find(in.in(), values.span(), {});
    expect_elements("find without mask", expected, there, {}, values.get(), want_found);
    s.tree().successor(in.in(), keys.span(), {}, {});
    expect_elements("successor: keys alone", expected, next, keys.get(), {}, want_next);
    s.tree().successor(in.in(), {}, values.span(), {});
    expect_elements("successor: values alone", expected, next, {}, values.get(), want_next);
    s.tree().successor(in.in(), {}, {}, found.span());
    expect_elements("successor: mask alone", expected, next, {}, {}, found.get());
  }
};

}  // namespace espalier::test
