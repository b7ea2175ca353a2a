// order_test.cpp - batches that almost ascend: what a promise of order gains is lost at an outlier, never the answer.
//
// Plan `ordered` walks from one query's line to the next. Outliers stand at every distance from each other, so that
// they fall on the first, the last and the inner places of the walks, and they go far ahead, far back, and beyond both
// ends.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

enum class outliers { none, ahead, back, both, descending_runs };

template <class Key>
class almost_ascending {
 public:
  /// `density`: one query in so many is far off, or a run has that length.
  static array<Key> make(const array<Key>& sorted, std::size_t n, outliers kind, std::size_t density) {
    random_words random(n + density);
    array<Key> queries(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto word = key_codec<Key>::encode(sorted[i * sorted.size() / n]);
      queries[i] = from_word<Key>(word + random.below(2));
    }
    if (kind == outliers::none) return queries;
    if (kind == outliers::descending_runs) {
      for (std::size_t i = 0; i + density <= n; i += 2 * density) {
        std::reverse(queries.begin() + i, queries.begin() + i + density);
      }
      return queries;
    }
    bool ahead = kind != outliers::back;
    for (std::size_t i = random.below(density); i < n; i += 1 + random.below(2 * density)) {
      queries[i] = far_off(sorted, ahead, random);
      if (kind == outliers::both) ahead = !ahead;
    }
    return queries;
  }

 private:
  static Key far_off(const array<Key>& sorted, bool ahead, random_words& random) {
    const std::size_t near_end = random.below(sorted.size() / 100 + 1);
    switch (random.below(3)) {
      case 0:
        return from_word<Key>(ahead ? largest_word<Key>() : 0);
      case 1:
        return ahead ? sorted[sorted.size() - 1] : sorted[0];
      default:
        return ahead ? sorted[sorted.size() - 1 - near_end] : sorted[near_end];
    }
  }
};

template <class Key>
class ordered_answers {
 public:
  ordered_answers(const setting& s, family f, std::size_t n)
      : here_(s),
        expected_(make_keys<Key>(f, n), make_values<std::uint32_t>(n)),
        tree_(static_tree<Key, std::uint32_t>::build(expected_.keys().span(), expected_.values().span(), {}, s.dev)) {}

  void check(outliers kind, std::size_t batch, std::size_t density) const {
    const auto queries = almost_ascending<Key>::make(expected_.keys(), batch, kind, density);
    for (const query_plan how : {query_plan::ordered, query_plan::automatic}) {
      for (const batch_order order : {batch_order::ascending, batch_order::unknown}) {
        SCOPED_TRACE("outliers " + std::to_string(static_cast<int>(kind)) + ", one in " + std::to_string(density) +
                     ", plan " + espalier::to_string(how) + ", promise " + std::to_string(static_cast<int>(order)));
        const node_search search = order == batch_order::unknown ? node_search::linear : node_search::hierarchical;
        ask(queries, {order, how, search});
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

 private:
  void ask(const array<Key>& queries, const query_options& options) const {
    const std::size_t n = queries.size();
    lent<Key> in(here_, queries), next(here_, n), last(here_, n);
    lent<std::uint32_t> values(here_, n);
    lent<std::uint8_t> found(here_, n), has_next(here_, n), has_last(here_, n);
    lent<std::uint64_t> lower(here_, n), upper(here_, n);
    tree_.find(in.in(), values.span(), found.span(), options);
    tree_.rank(in.in(), lower.span(), bound_type::lower, options);
    tree_.rank(in.in(), upper.span(), bound_type::upper, options);
    tree_.successor(in.in(), next.span(), {}, has_next.span(), options);
    tree_.predecessor(in.in(), last.span(), {}, has_last.span(), options);
    const auto& v = values.get();
    const auto &f = found.get(), &hn = has_next.get(), &hl = has_last.get();
    const auto &lo = lower.get(), &up = upper.get();
    const auto &nk = next.get(), &lk = last.get();
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint64_t first = expected_.lower(queries[i]), end = expected_.upper(queries[i]);
      ASSERT_EQ(lo[i], first) << "lower_bound of query " << i;
      ASSERT_EQ(up[i], end) << "upper_bound of query " << i;
      ASSERT_EQ(f[i], first != end ? 1 : 0) << "find of query " << i;
      ASSERT_EQ(v[i], first != end ? expected_.values()[first] : 0) << "value of query " << i;
      ASSERT_EQ(hn[i], end < expected_.size() ? 1 : 0) << "successor of query " << i;
      ASSERT_EQ(hl[i], first > 0 ? 1 : 0) << "predecessor of query " << i;
      ASSERT_TRUE(hn[i] == 0 || same(nk[i], expected_.keys()[end])) << "successor of query " << i;
      ASSERT_TRUE(hl[i] == 0 || same(lk[i], expected_.keys()[first - 1])) << "predecessor of query " << i;
    }
  }

  const setting& here_;
  oracle<Key, std::uint32_t> expected_;
  static_tree<Key, std::uint32_t> tree_;
};

class StaticTreeOrder : public testing::TestWithParam<const setting*> {
 protected:
  template <class Key>
  static void check(family f, std::size_t keys, std::size_t batch, const std::vector<std::size_t>& densities) {
    SCOPED_TRACE(to_string(f));
    const ordered_answers<Key> answers(*GetParam(), f, keys);
    for (const outliers kind :
         {outliers::none, outliers::ahead, outliers::back, outliers::both, outliers::descending_runs}) {
      for (const std::size_t density : densities) answers.check(kind, batch, density);
    }
  }
};

TEST_P(StaticTreeOrder, SmallAlmostAscendingBatchesAreAnsweredRight) {
  for (const family f : {family::uniform, family::zipf, family::all_equal, family::nested}) {
    check<std::uint32_t>(f, 2500, 1501, {5, 40});
    check<std::uint64_t>(f, 2500, 1501, {5, 40});
  }
}

TEST_P(StaticTreeOrder, LargeAlmostAscendingBatchesAreAnsweredRight) {
  for (const family f : {family::uniform, family::clustered}) {
    check<std::uint32_t>(f, 100003, 30011, {2, 5, 40, 700});  // lines are shared by neighbours
    check<std::int64_t>(f, 300007, 9001, {2, 5, 40, 700});    // and skipped between them
  }
}

INSTANTIATE_TEST_SUITE_P(, StaticTreeOrder, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
