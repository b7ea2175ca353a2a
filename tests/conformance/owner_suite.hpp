// owner_suite.hpp - building, promises, errors, batches of none and one, and what the tree tells about itself.
#pragma once

#include "conformance/range_suite.hpp"

namespace espalier::test {

/// The call throws espalier::error, at once or when its stream is waited for, with a sentence that names `word`.
template <class Call>
void expect_error(const char* what, const stream& s, const std::string& word, Call call) {
  try {
    call();
    s.synchronize();
  } catch (const error& e) {
    const std::string text = e.what();
    EXPECT_NE(text.find(word), std::string::npos) << what << " says: " << text;
    EXPECT_GT(text.size(), 20u) << what << " should say what to do: " << text;
    return;
  }
  ADD_FAILURE() << what << " should be an error";
}

template <class Key, class Value>
class owner_suite : public range_suite<Key, Value> {
 protected:
  using base = range_suite<Key, Value>;
  using base::can_sum;
  using base::here;
  using base::is_set;
  using typename base::bounds;
  using typename base::slot;
  using typename base::subject_type;
  using typename base::summand;
  using typename base::tree_type;

  static void expect_all_elements(const subject_type& s, const tree_type& tree) {
    array<std::uint64_t> every(s.expected().size());
    for (std::size_t i = 0; i < every.size(); ++i) every[i] = i;
    lent<std::uint64_t> in(here(), every);
    lent<Key> keys(here(), every.size());
    lent<slot> values(here(), s.values_for(every.size()));
    tree.select(in.in(), keys.span(), values.span(), {});
    expect_same("keys in order", keys.get(), s.expected().keys());
    expect_same("values beside their keys", values.get(), s.expected().values());
    const validation v = tree.validate();
    EXPECT_TRUE(v.ok) << v.problem;
  }

  static void check_builds_agree(const subject_type& s) {
    const build_options sorted{true, aggregates::none};
    const auto& expected = s.expected();
    expect_all_elements(s, s.tree());
    expect_all_elements(s, subject_type::build(here(), expected.keys(), expected.values(), sorted));
    expect_all_elements(s, subject_type::build_async(here(), s.keys(), s.values(), {}));
    expect_all_elements(s, subject_type::build_async(here(), expected.keys(), expected.values(), sorted));
  }

  /// One pair of neighbours out of order, at the front, at a line's end, and at the very end.
  static void check_broken_promise(std::size_t n) {
    using shape = tree_shape<word_of<Key>, 0>;
    const std::size_t places[] = {0, shape::keys_per_line - 1, shape::keys_per_group - 1, n / 2, n - 2};
    const subject_type good(here(), {family::uniform, n});
    for (const std::size_t at : places) {
      if (at + 1 >= n) continue;
      SCOPED_TRACE("keys " + std::to_string(at) + " and the next are out of order");
      array<Key> keys = good.expected().keys();
      constexpr std::uint64_t middle = largest_word<Key>() / 2;  // of floats: -0.0 and then +0.0
      for (std::size_t i = 0; i <= at; ++i) keys[i] = from_word<Key>(middle);
      for (std::size_t i = at + 1; i < n; ++i) keys[i] = from_word<Key>(middle + 1);
      std::swap(keys[at], keys[at + 1]);
      const build_options promise{true, aggregates::none};
      expect_error("a broken promise", here().own, "sorted",
                   [&] { static_cast<void>(subject_type::build(here(), keys, good.values(), promise)); });
      expect_error("a broken promise, async", here().own, "sorted",
                   [&] { static_cast<void>(subject_type::build_async(here(), keys, good.values(), promise)); });
    }
  }

  static void check_aggregates_not_kept(std::size_t n) {
    using sums = lent<typename tree_type::sum_type>;
    for (const aggregates keep : {aggregates::none, aggregates::sum, aggregates::min_max, aggregates::all}) {
      SCOPED_TRACE("keeps " + espalier::to_string(keep));
      const auto ask = [&](const char* what, bool kept, auto call) {
        if (kept && can_sum) {
          EXPECT_NO_THROW(call()) << what;
        } else {
          expect_error(what, here().own, "aggregate", call);
        }
      };
      const bool with_sum = (static_cast<unsigned>(keep) & static_cast<unsigned>(aggregates::sum)) != 0;
      const bool with_extremes = (static_cast<unsigned>(keep) & static_cast<unsigned>(aggregates::min_max)) != 0;
      const auto tree = [&] {
        return subject_type::build(here(), make_keys<Key>(family::uniform, n), make_values<slot>(is_set ? 0 : n),
                                   {false, keep});
      };
      lent<Key> key(here(), array<Key>{Key{}});
      ask("sum", with_sum, [&] {
        sums out(here(), 1);
        tree().sum(key.in(), key.in(), out.span());
      });
      ask("avg", with_sum, [&] {
        lent<double> out(here(), 1);
        tree().avg(key.in(), key.in(), out.span());
      });
      ask("min", with_extremes, [&] {
        lent<summand> out(here(), 1);
        tree().min(key.in(), key.in(), out.span(), {});
      });
      ask("max", with_extremes, [&] {
        lent<summand> out(here(), 1);
        tree().max(key.in(), key.in(), out.span(), {});
      });
    }
  }

  static void check_stats(const subject_type& s) {
    using shape = tree_shape<word_of<Key>, detail::value_slot(is_set ? 0 : sizeof(slot))>;
    const tree_stats stats = s.tree().stats();
    const std::size_t n = s.expected().size();
    const std::size_t elements = n * (sizeof(word_of<Key>) + shape::value_bytes);
    EXPECT_EQ(stats.size, n);
    EXPECT_EQ(s.tree().size(), n);
    EXPECT_EQ(s.tree().empty(), n == 0);
    EXPECT_EQ(stats.groups, (n + shape::keys_per_group - 1) / shape::keys_per_group);
    EXPECT_GE(stats.leaf_bytes, elements);
    EXPECT_GE(stats.bytes, stats.leaf_bytes + stats.inner_bytes + stats.aggregate_bytes);
    EXPECT_LE(stats.fill, 1.0);
    if (n != 0) {
      EXPECT_GT(stats.fill, n < shape::keys_per_line ? 0.0 : 0.5);
      EXPECT_GE(stats.height, 1u);
      // However keys crowd, a search never reads more places than a binary search would.
      EXPECT_LE(stats.height, 3.0 + std::log2(static_cast<double>(n)));
    }
    if (n > 60000) {
      EXPECT_LE(static_cast<double>(stats.leaf_bytes + stats.inner_bytes), 1.15 * static_cast<double>(elements));
      EXPECT_LE(static_cast<double>(stats.bytes), 1.25 * static_cast<double>(elements));
    }
    const validation v = s.tree().validate();
    EXPECT_TRUE(v.ok) << v.problem;
    EXPECT_TRUE(v.problem.empty()) << v.problem;
  }

  /// Every operation on `n` queries, n being 0 or 1.
  static void check_tiny_batch(const subject_type& s, std::size_t n) {
    array<Key> queries(n);
    if (n != 0) queries[0] = s.keys().empty() ? Key{} : s.keys()[s.keys().size() / 2];
    for (const query_plan how : {query_plan::automatic, query_plan::small, query_plan::scattered, query_plan::ordered,
                                 query_plan::sort_first, query_plan::partition_first}) {
      SCOPED_TRACE(espalier::to_string(how));
      base::check_point_queries(s, queries, {batch_order::unknown, how});
    }
    for (const interval ends : all_intervals) {
      base::check_ranges(s, bounds{queries, queries}, {ends});
      base::check_aggregates(s, bounds{queries, queries}, ends);
    }
    if (n == 0) {
      s.tree().select({}, {}, {}, {});
      s.tree().select_async({}, {}, {}, {}, here().own);
      here().own.synchronize();
    }
  }

  static void check_unequal_sizes(std::size_t n) {
    const subject_type s(here(), {family::uniform, n});
    const auto& tree = s.tree();
    lent<Key> three(here(), 3), two(here(), 2);
    lent<slot> values(here(), 2);
    lent<std::uint8_t> mask(here(), 2);
    lent<std::uint64_t> ranks(here(), 2), offsets(here(), 3);
    lent<typename tree_type::sum_type> sums(here(), 2);
    const std::string says = "the batch needs";
    const stream& own = here().own;
    const auto in = three.in();
    expect_error("find values", own, says, [&] { tree.find(in, values.span(), {}); });
    expect_error("find mask", own, says, [&] { tree.find(in, {}, mask.span()); });
    expect_error("contains", own, says, [&] { tree.contains_async(in, mask.span(), {}, own); });
    expect_error("rank", own, says, [&] { tree.rank(in, ranks.span()); });
    expect_error("upper rank", own, says, [&] { tree.rank_async(in, ranks.span(), bound_type::upper, {}, own); });
    expect_error("successor", own, says, [&] { tree.successor(in, two.span(), {}, {}); });
    expect_error("predecessor", own, says, [&] { tree.predecessor(in, {}, {}, mask.span()); });
    expect_error("select", own, says, [&] { tree.select(offsets.in(), two.span(), {}, {}); });
    expect_error("count", own, says, [&] { tree.count(in, two.in(), ranks.span()); });
    expect_error("count", own, says, [&] { tree.count(in, in, ranks.span()); });
    expect_error("range", own, says, [&] { static_cast<void>(tree.range(in, two.in())); });
    expect_error("range offsets", own, says, [&] { tree.range_offsets_async(in, in, offsets.span(), {}, own); });
    expect_error("sum", own, says, [&] { tree.sum(in, in, sums.span()); });
    if constexpr (!is_set) {
      expect_error("build", own, says, [&] { static_cast<void>(tree_type::build(in, values.in(), {}, here().dev)); });
    }
  }
};

}  // namespace espalier::test
