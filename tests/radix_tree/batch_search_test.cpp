// batch_search_test.cpp - on a CPU, queries that are answered together have the answers of queries that are answered
// one by one: for all families of keys, with root tables of any size, and after writes.
#include <gtest/gtest.h>

#include <algorithm>

#include "espalier/radix_tree/batch_search.hpp"
#include "espalier/team/scalar_team.hpp"
#include "radix_tree/subject.hpp"

namespace espalier::test {
namespace {

class RadixTreeBatchSearch : public testing::TestWithParam<const setting*> {
 protected:
  using value = std::uint64_t;
  using subject = radix_subject<value>;
  using numbers = std::vector<std::uint64_t>;
  using together = radix_batch_searcher<scalar_team, radix_view<8>>;

  /// All answers about these keys.
  struct answers {
    numbers lower, upper, counts, open_counts, prefixes;
    strings neighbours;
    std::vector<std::uint32_t> lengths;
    std::vector<value> values, most;
    std::vector<std::uint8_t> found, some;
    std::vector<subject::sum_type> sums;

    void append(const answers& more) {
      const auto add = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
      add(lower, more.lower), add(upper, more.upper), add(counts, more.counts), add(open_counts, more.open_counts);
      add(prefixes, more.prefixes), add(neighbours, more.neighbours), add(lengths, more.lengths);
      add(values, more.values), add(most, more.most), add(found, more.found), add(some, more.some);
      add(sums, more.sums);
    }
    friend bool operator==(const answers&, const answers&) = default;
  };
  static void add_neighbours(const listed<value>& from, strings& to) {
    for (std::size_t i = 0; i + 1 < from.offsets.size(); ++i)
      to.push_back(from.offsets[i] == from.offsets[i + 1] ? "none" : "key " + from.keys[from.offsets[i]]);
  }
  static answers ask(const subject& tree, const strings& lo, const strings& hi) {
    answers a;
    tree.rank(lo, a.lower);
    tree.rank(lo, a.upper, bound_type::upper);
    tree.count(lo, hi, a.counts);
    tree.count(lo, hi, a.open_counts, {interval::open, 7});
    tree.count_prefix(lo, a.prefixes);
    tree.longest_prefix(lo, a.lengths, a.values, a.found);
    tree.sum(lo, hi, a.sums, interval::right_open);
    tree.max(lo, hi, a.most, a.some, interval::closed);
    return a;
  }
  static strings neighbours(const subject& tree, const strings& asked, unsigned what) {
    strings to;
    add_neighbours(what == 0   ? tree.lower_bound(asked)
                   : what == 1 ? tree.successor(asked)
                               : tree.predecessor(asked),
                   to);
    return to;
  }
  static std::vector<strings> singles(const strings& all) {
    std::vector<strings> each;
    for (const std::string& s : all) each.push_back({s});
    return each;
  }

  /// The searches of a batch, and those of its keys.
  static void check_searches(const subject& tree, const strings& keys) {
    using search = radix_searcher<scalar_team, radix_view<8>>;
    const strings asked = questions_about(keys, 80);
    radix_view<8> t;
    tree.tree().untyped().view(&t);
    constexpr scalar_team team;
    for (std::size_t first = 0, n = 1; first + n <= asked.size(); first += n, n = n % together::most + 9) {
      if (n > together::most) n = together::most;
      byte_key_view key[together::most];
      for (unsigned j = 0; j < n; ++j) {
        const std::string& s = asked[first + j];
        key[j] = {reinterpret_cast<const std::uint8_t*>(s.data()), static_cast<std::uint32_t>(s.size())};
      }
      const auto count = static_cast<unsigned>(n);
      std::uint64_t below[together::most], up_to[together::most], begin[together::most], end[together::most];
      radix_link before[together::most], at_or_after[together::most], after[together::most], longest[together::most];
      together::rank(team, t, key, count, false, below);
      together::rank(team, t, key, count, true, up_to);
      together::prefix(team, t, key, count, begin, end);
      together::beside_key<false>(team, t, key, count, false, before);
      together::beside_key<true>(team, t, key, count, true, at_or_after);
      together::beside_key<true>(team, t, key, count, false, after);
      together::longest_prefix(team, t, key, count, longest);
      for (unsigned j = 0; j < count; ++j) {
        SCOPED_TRACE(testing::PrintToString(asked[first + j]));
        bool found = false;
        const std::uint64_t rank = search::rank(team, t, key[j], found);
        const auto slice = search::prefix(team, t, key[j]);
        ASSERT_EQ(below[j], rank);
        ASSERT_EQ(up_to[j], rank + (found ? 1 : 0));
        ASSERT_EQ(begin[j], slice.first);
        ASSERT_EQ(end[j], slice.last);
        ASSERT_EQ(before[j].word, search::before(team, t, key[j]).word);
        ASSERT_EQ(at_or_after[j].word, search::after(team, t, key[j], true).word);
        ASSERT_EQ(after[j].word, search::after(team, t, key[j], false).word);
        ASSERT_EQ(longest[j].word, search::longest_prefix(team, t, key[j]).word);
      }
    }
  }
  /// The answers of a batch, and those of batches of one.
  static void check_answers(const subject& tree, const strings& keys) {
    const strings asked = questions_about(keys, 60);
    const strings hi(asked.rbegin(), asked.rend());
    // Neighbours first: while the order of all leaves is unknown, they are found by walks (after a write).
    for (const unsigned what : {2u, 1u, 0u}) {
      const strings all = neighbours(tree, asked, what);
      ASSERT_EQ(all.size(), asked.size());
      for (std::size_t i = 0; i < asked.size(); ++i)
        ASSERT_EQ(all[i], neighbours(tree, {asked[i]}, what)[0]) << what << ", " << testing::PrintToString(asked[i]);
    }
    const answers all = ask(tree, asked, hi);
    answers one_by_one;
    for (std::size_t i = 0; i < asked.size(); ++i) one_by_one.append(ask(tree, {asked[i]}, {hi[i]}));
    ASSERT_TRUE(all == one_by_one);
    for (const unsigned what : {2u, 1u, 0u}) {  // now by ranks
      const strings ordered = neighbours(tree, asked, what);
      for (std::size_t i = 0; i < asked.size(); ++i)
        ASSERT_EQ(ordered[i], neighbours(tree, {asked[i]}, what)[0]) << what;
    }
  }
};

TEST_P(RadixTreeBatchSearch, HasTheResultsOfSingleSearches) {
  if (GetParam()->dev.kind() != device_kind::cpu) GTEST_SKIP() << "kernels search for single keys";
  for (const byte_family f : all_byte_families) {
    for (const unsigned bits : {0u, 3u, 6u, 11u}) {
      SCOPED_TRACE(std::string(to_string(f)) + ", table of " + std::to_string(bits) + " bits");
      const strings keys = byte_keys_of(f, 700), more = byte_keys_of(f, 500, 2);
      const std::vector<value> values(keys.size(), 1), new_values(more.size(), 17);
      radix_options options;
      options.table_bits = bits;
      subject tree(*GetParam(), keys, values, options);
      ASSERT_NO_FATAL_FAILURE(check_searches(tree, keys));
      std::vector<std::uint8_t> done;
      tree.write(radix_op::insert, more, new_values, done, radix_path::in_place);
      ASSERT_NO_FATAL_FAILURE(check_searches(tree, keys));
      // Of every three keys two are erased, so that nodes shrink and disappear.
      strings gone;
      for (std::size_t i = 0; i < more.size(); ++i) {
        if (i % 3 != 0) gone.push_back(more[i]);
      }
      done.clear();
      tree.write(radix_op::erase, gone, {}, done, radix_path::in_place);
      ASSERT_NO_FATAL_FAILURE(check_searches(tree, more));
      EXPECT_TRUE(tree.tree().validate().ok);
    }
  }
}

TEST_P(RadixTreeBatchSearch, BatchesHaveTheAnswersOfSingleQueries) {
  static_assert(together::fewest > 1);
  for (const byte_family f : {byte_family::urls, byte_family::random_lengths, byte_family::few_bytes}) {
    SCOPED_TRACE(to_string(f));
    const strings keys = byte_keys_of(f, 9000), more = byte_keys_of(f, 3000, 2);
    std::vector<value> values(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) values[i] = i * 1000003 + 1;
    const std::vector<value> new_values(more.size(), 17);
    radix_options options;
    options.table_bits = 3;
    subject tree(*GetParam(), keys, values, options);
    EXPECT_TRUE(searches_wait_for_memory(tree.size(), tree.tree().stats().table_bits)) << tree.size();
    ASSERT_NO_FATAL_FAILURE(check_answers(tree, keys));
    std::vector<std::uint8_t> done;
    tree.write(radix_op::insert, more, new_values, done);
    ASSERT_NO_FATAL_FAILURE(check_answers(tree, more));
  }
}

TEST_P(RadixTreeBatchSearch, ExplainTellsWhetherSearchesAreInterleaved) {
  const strings keys = byte_keys_of(byte_family::fixed8, 5000);
  const std::vector<value> values(keys.size(), 1);
  radix_options options;
  options.table_bits = 3;
  const subject deep(*GetParam(), keys, values, options), shallow(*GetParam(), keys, values);
  const bool on_gpu = GetParam()->dev.kind() == device_kind::cuda;
  EXPECT_EQ(deep.tree().explain(1).chosen, on_gpu ? query_plan::scattered : query_plan::small);
  EXPECT_EQ(deep.tree().explain(100000).chosen, query_plan::scattered);
  EXPECT_EQ(deep.tree().explain(9).text == shallow.tree().explain(9).text, on_gpu);
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeBatchSearch, testing::ValuesIn(all_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
