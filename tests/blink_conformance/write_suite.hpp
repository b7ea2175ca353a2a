// write_suite.hpp - what writes do, on every path and with both batch semantics: growth, shrinking, reuse, mixtures.
#pragma once

#include "blink_conformance/range_suite.hpp"
#include "conformance/owner_suite.hpp"  // expect_error

namespace espalier::test {

template <class Key, class Value, class Policy>
class blink_write_suite : public blink_range_suite<Key, Value, Policy> {
 protected:
  using base = blink_range_suite<Key, Value, Policy>;
  using base::can_sum;
  using base::here;
  using base::is_set;
  using base::slots;
  using typename base::slot;
  using typename base::subject_type;
  using typename base::summand;
  using typename base::tree_type;

  /// Calls check(options) for each path with each semantics.
  template <class Check>
  static void for_ways(Check check) {
    for (const write_path path : all_paths) {
      for (const batch_semantics semantics : all_semantics) {
        const write_options options{semantics, path};
        SCOPED_TRACE(to_string(options));
        check(options);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  /// One key at a time through every size up to `n` and back to none.
  static void check_growth(family f, std::size_t n, const write_options& options) {
    SCOPED_TRACE(to_string(f) + " x " + std::to_string(n));
    array<Key> keys = distinct(make_keys<Key>(f, n));
    subject_type s(here());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      s.insert(part(keys, i, 1), options);
      if (i % 16 == 15) s.check_content();
      if (testing::Test::HasFatalFailure()) return;
    }
    base::check_points(s, 20);
    random_words random(n);
    if (n % 2 == 0) shuffle(keys, random);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      s.erase(part(keys, i, 1), options);
      if (i % 16 == 15) s.check_content();
      if (testing::Test::HasFatalFailure()) return;
    }
    base::check_points(s, 5);
  }

  /// Half of the keys are there, and every write brings keys that are and keys that are not, duplicates included.
  static void check_writes(const sample& what, const write_options& options, bool async = false) {
    SCOPED_TRACE(what.name());
    const array<Key> keys = make_keys<Key>(what.keys, what.size);
    subject_type s(here(), part(keys, 0, keys.size() / 2));
    s.write(write_op::insert, keys, options, async);
    s.check_content();
    s.write(write_op::erase, part(keys, keys.size() / 4, keys.size() / 2), options, async);
    s.check_content();
    if constexpr (!is_set) {
      s.write(write_op::update, keys, options, async);
      s.check_content();
      s.write(write_op::insert_or_assign, keys, options, async);
      s.check_content();
    }
    s.write(write_op::erase, keys, options, async);
    s.write(write_op::erase, keys, options, async);
    s.check_content();
  }

  /// Full and empty again, several times, in several orders; queries in between.
  static void check_erase_everything(std::size_t n, const write_options& options) {
    subject_type s(here());
    for (unsigned round = 0; round < 4; ++round) {
      SCOPED_TRACE("round " + std::to_string(round));
      static constexpr family orders[] = {family::shuffled, family::ascending, family::descending, family::nested};
      const array<Key> keys = make_keys<Key>(orders[round], n);
      s.insert(keys, options);
      s.check_content();
      array<Key> leaving = distinct(keys);
      random_words random(round);
      if (round % 2 == 0) shuffle(leaving, random);
      const std::size_t half = leaving.size() / 2;
      s.erase(part(leaving, 0, half), options);
      base::check_points(s, 30);
      s.erase(part(leaving, half, leaving.size() - half), options);
      base::check_points(s, 10);
      if (round % 2 == 1) s.maintain();
      if (testing::Test::HasFatalFailure()) return;
    }
    s.insert(make_keys<Key>(family::uniform, n), options);
    s.clear();
    base::check_points(s, 10);
    s.insert(make_keys<Key>(family::uniform, n), options);
    s.check_content();
  }

  /// Mixed batches over keys of which each occurs up to `repeats` times.
  static void check_mixture(std::size_t n, std::size_t repeats, const write_options& options, bool async = false) {
    SCOPED_TRACE("mixture of " + std::to_string(n));
    const array<Key> all = distinct(make_keys<Key>(family::uniform, n));
    subject_type s(here(), part(all, 0, all.size() / 2));
    random_words random(n + repeats);
    for (unsigned round = 0; round < 4; ++round) {
      array<Key> keys(all.size());
      array<blink_op> ops(all.size());
      for (std::size_t i = 0; i < keys.size(); ++i) {
        keys[i] = all[i / repeats];
        ops[i] = static_cast<blink_op>(random.below(5));
      }
      shuffle(keys, random);
      s.apply(ops, keys, options, async);
      s.check_content();
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  /// Finds and erases bring no values and may be asked for no answers.
  static void check_mixture_without_values(std::size_t n, const write_options& options) {
    const array<Key> keys = distinct(make_keys<Key>(family::uniform, n));
    subject_type s(here(), keys);
    array<blink_op> ops(keys.size());
    std::size_t erased = 0;
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ops[i] = i % 3 == 0 ? blink_op::erase : blink_op::find;
      erased += i % 3 == 0 ? 1 : 0;
    }
    lent<blink_op> o(here(), ops);
    lent<Key> k(here(), keys);
    s.tree().apply(o.in(), k.in(), {}, {}, {}, options);
    EXPECT_EQ(s.tree().size(), keys.size() - erased);
    lent<std::uint8_t> found(here(), keys.size());
    s.tree().contains(k.in(), found.span());
    const auto& there = found.get();
    for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(there[i], i % 3 == 0 ? 0 : 1) << "key " << i;
  }

  static void check_maintain(std::size_t n) {
    subject_type s(here());
    s.maintain();
    s.maintain();
    const array<Key> keys = distinct(make_keys<Key>(family::uniform, n));
    s.insert(keys);
    for (unsigned round = 0; round < 3; ++round) {
      s.maintain();
      s.check_content();
      s.erase(part(keys, 0, keys.size() - keys.size() / 10));
      s.maintain();
      s.maintain();
      EXPECT_EQ(s.tree().stats().dead_nodes, 0u) << "nobody else holds a merged node";
      s.check_content();
      base::check_points(s, 20);
      s.insert(keys);
      base::check_points(s, 20);
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  /// A build uses the share of the slots that it was asked for, as far as the size lets it.
  static void check_builds(const std::vector<sample>& samples) {
    for (const sample& what : samples) {
      SCOPED_TRACE(what.name());
      const array<Key> keys = make_keys<Key>(what.keys, what.size);
      double last = 0;
      for (const double fill : {0.25, 0.5, 0.75, 1.0}) {
        const subject_type s(here(), keys, blink_options{fill});
        s.check_content();
        if (testing::Test::HasFatalFailure()) return;
        const blink_stats stats = s.tree().stats();
        EXPECT_EQ(stats.size, s.model().size());
        EXPECT_GE(stats.height, 1u);
        EXPECT_GE(stats.leaves, 1u);
        EXPECT_GT(stats.node_bytes, 0u);
        EXPECT_GE(stats.bytes, stats.leaves * stats.node_bytes);
        EXPECT_EQ(stats.dead_nodes, 0u);
        EXPECT_GE(stats.fill, last);
        EXPECT_LE(stats.fill, 1.0);
        if (stats.size >= 20 * slots) {
          EXPECT_NEAR(stats.fill, fill, 0.13);
        }
        last = stats.fill;
      }
    }
  }

  /// Every operation on no elements at all.
  static void check_empty_batches(const array<Key>& keys) {
    subject_type s(here(), keys);
    for_ways([&](const write_options& options) {
      s.insert({}, options);
      s.erase({}, options);
      if constexpr (!is_set) {
        s.write(write_op::update, {}, options);
        s.write(write_op::insert_or_assign, {}, options, true);
      }
      s.apply({}, {}, options);
    });
    s.tree().find({}, {}, {});
    s.tree().contains({}, {});
    s.tree().lower_bound({}, {}, {}, {});
    s.tree().successor_async({}, {}, {}, {}, here().own);
    s.tree().predecessor({}, {}, {}, {});
    s.tree().count({}, {}, {});
    if constexpr (can_sum) s.tree().sum({}, {}, std::span<typename tree_type::sum_type>{});
    here().own.synchronize();
    EXPECT_EQ(s.tree().range({}, {}).keys.size(), 0u);
    s.check_content();
  }

  static void check_unequal_sizes() {
    subject_type s(here(), make_keys<Key>(family::uniform, 50));
    auto& tree = s.tree();
    lent<Key> three(here(), 3), two(here(), 2);
    lent<slot> values(here(), 2);
    lent<std::uint8_t> mask(here(), 2);
    lent<std::uint64_t> counts(here(), 2);
    lent<blink_op> ops(here(), array<blink_op>(2));
    const std::string says = "the batch needs";
    const stream& own = here().own;
    const auto in = three.in();
    expect_error("erase mask", own, says, [&] { tree.erase(in, mask.span()); });
    expect_error("erase_async mask", own, says, [&] { tree.erase_async(in, mask.span(), {}, own); });
    expect_error("apply", own, says, [&] { tree.apply(ops.in(), in, {}, {}, {}); });
    expect_error("apply mask", own, says, [&] { tree.apply(ops.in(), two.in(), {}, {}, mask.span().first(1)); });
    expect_error("find values", own, says, [&] { tree.find(in, values.span(), {}); });
    expect_error("contains", own, says, [&] { tree.contains(in, mask.span()); });
    expect_error("lower_bound", own, says, [&] { tree.lower_bound(in, two.span(), {}, {}); });
    expect_error("successor", own, says, [&] { tree.successor(in, {}, values.span(), {}); });
    expect_error("predecessor", own, says, [&] { tree.predecessor(in, {}, {}, mask.span()); });
    expect_error("count", own, says, [&] { tree.count(in, two.in(), counts.span()); });
    expect_error("range", own, says, [&] { static_cast<void>(tree.range(in, two.in())); });
    if constexpr (is_set) {
      expect_error("insert mask", own, says, [&] { tree.insert(in, mask.span()); });
    } else {
      expect_error("insert", own, says, [&] { tree.insert(in, values.in()); });
      expect_error("update_async", own, says, [&] { tree.update_async(in, values.in(), {}, {}, own); });
      expect_error("build", own, says, [&] { static_cast<void>(tree_type::build(in, values.in(), {}, here().dev)); });
    }
    s.check_structure("errors");
    s.check_content();
  }

  /// Values that are no numbers have no sum.
  static void check_opaque_aggregates() {
    if constexpr (!can_sum) {
      const subject_type s(here(), make_keys<Key>(family::uniform, 50));
      lent<Key> key(here(), array<Key>{Key{}});
      lent<typename tree_type::sum_type> sum(here(), 1);
      lent<double> mean(here(), 1);
      lent<summand> least(here(), 1);
      const stream& own = here().own;
      expect_error("sum", own, "aggregate", [&] { s.tree().sum(key.in(), key.in(), sum.span()); });
      expect_error("avg", own, "aggregate", [&] { s.tree().avg(key.in(), key.in(), mean.span()); });
      expect_error("min", own, "aggregate", [&] { s.tree().min(key.in(), key.in(), least.span(), {}); });
    }
  }
};

}  // namespace espalier::test
