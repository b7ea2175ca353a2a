// subject.hpp - one tree under test beside its oracle, and the queries asked of both.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "espalier/static_tree/layout.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {

/// Opaque values of sizes that are no power of two, and of the largest size.
template <unsigned Bytes>
struct bytes {
  unsigned char x[Bytes];
};
struct pair_of_words {
  std::uint64_t first, second;
};

/// One set of keys: how they are spread, and how many.
struct sample {
  family keys;
  std::size_t size;
  [[nodiscard]] std::string name() const { return to_string(keys) + " x " + std::to_string(size); }
};

/// Sizes on both sides of every node boundary with three families, then every family at two sizes.
template <class Key>
[[nodiscard]] std::vector<sample> small_samples() {
  using shape = tree_shape<word_of<Key>, 0>;
  constexpr std::size_t line = shape::keys_per_line;
  constexpr std::size_t group = shape::keys_per_group;
  std::vector<sample> samples;
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, line - 1, line, line + 1,
                              group - 1, group, group + 1, 2 * group - 1, 2 * group, 2 * group + 1}) {
    for (const family f : {family::uniform, family::zipf, family::all_equal}) samples.push_back({f, n});
  }
  for (const family f : all_families) samples.push_back({f, 1000});
  for (const family f : {family::extremes, family::nested, family::adversarial}) samples.push_back({f, 2500});
  return samples;
}

[[nodiscard]] inline std::vector<sample> large_samples() {
  std::vector<sample> samples;
  for (const family f : all_families) samples.push_back({f, (std::size_t{1} << 16) + 3});
  return samples;
}

/// Keys that occur, their neighbours, keys that need not occur, and the special ones; in no order.
template <class Key>
[[nodiscard]] array<Key> make_queries(const array<Key>& keys, std::size_t about) {
  constexpr std::uint64_t m = largest_word<Key>();
  random_words random(keys.size() + 17);
  std::vector<std::uint64_t> words;
  for (std::size_t i = 0; !keys.empty() && i < about; ++i) {
    const std::uint64_t word = key_codec<Key>::encode(keys[random.below(keys.size())]);
    words.push_back(word);
    if (i % 2 == 0) words.push_back(word == 0 ? 0 : word - 1);
    if (i % 2 == 1) words.push_back(word == m ? m : word + 1);
  }
  for (std::size_t i = 0; i < about / 4 + 2; ++i)
    words.push_back(m == ~std::uint64_t{0} ? random() : random.below(m + 1));
  const auto special = special_keys<Key>();
  array<Key> queries(words.size() + special.size());
  for (std::size_t i = 0; i < words.size(); ++i) queries[i] = from_word<Key>(words[i]);
  std::copy(special.begin(), special.end(), queries.begin() + words.size());
  shuffle(queries, random);
  return queries;
}

/// Fails once, at the first element that differs.
template <class T>
void expect_same(const char* what, const array<T>& got, const array<T>& want) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (!same(got[i], want[i])) {
      FAIL() << what << ": element " << i << " of " << got.size() << " is " << testing::PrintToString(got[i])
             << " and should be " << testing::PrintToString(want[i]);
    }
  }
}

template <class Key, class Value>
class subject {
 public:
  using tree_type = static_tree<Key, Value>;
  using oracle_type = oracle<Key, Value>;
  using slot = typename oracle_type::slot;
  using summand = typename oracle_type::summand;
  static constexpr bool is_set = oracle_type::is_set;
  static constexpr bool can_sum = scalar_kind_of<summand> != scalar_kind::opaque;

  /// Aggregates are kept where values have them, unless `options` says something else.
  subject(const setting& s, sample what, build_options options = {false, can_sum ? aggregates::all : aggregates::none})
      : subject(s, make_keys<Key>(what.keys, what.size), make_values<slot>(is_set ? 0 : what.size), options) {}
  subject(const setting& s, array<Key> keys, array<slot> values, build_options options)
      : keys_(std::move(keys)),
        values_(std::move(values)),
        oracle_(keys_, values_),
        tree_(build(s, keys_, values_, options)) {}

  [[nodiscard]] static tree_type build(const setting& s, const array<Key>& keys, const array<slot>& values,
                                       build_options options) {
    lent<Key> k(s, keys);
    lent<slot> v(s, values);
    if constexpr (is_set) {
      return tree_type::build(k.in(), options, s.dev);
    } else {
      return tree_type::build(k.in(), v.in(), options, s.dev);
    }
  }
  [[nodiscard]] static tree_type build_async(const setting& s, const array<Key>& keys, const array<slot>& values,
                                             build_options options) {
    lent<Key> k(s, keys);
    lent<slot> v(s, values);
    auto tree = [&] {
      if constexpr (is_set) {
        return tree_type::build_async(k.in(), options, s.dev, s.own);
      } else {
        return tree_type::build_async(k.in(), v.in(), options, s.dev, s.own);
      }
    }();
    s.own.synchronize();
    return tree;
  }

  [[nodiscard]] const tree_type& tree() const { return tree_; }
  [[nodiscard]] const oracle_type& expected() const { return oracle_; }
  [[nodiscard]] const array<Key>& keys() const { return keys_; }  ///< as they were given
  [[nodiscard]] const array<slot>& values() const { return values_; }

  /// An array with one element per query, made by f(query); empty for a set where it holds values.
  template <class T, class F>
  [[nodiscard]] static array<T> map(const array<Key>& queries, F f) {
    array<T> result(queries.size());
    for (std::size_t i = 0; i < queries.size(); ++i) result[i] = f(queries[i]);
    return result;
  }
  [[nodiscard]] static std::size_t values_for(std::size_t n) { return is_set ? 0 : n; }

 private:
  array<Key> keys_;
  array<slot> values_;
  oracle_type oracle_;
  tree_type tree_;
};

/// What the suites are written on: a test of one pair of types in one setting.
template <class Key, class Value>
class tree_test : public testing::TestWithParam<const setting*> {
 protected:
  using subject_type = subject<Key, Value>;
  using tree_type = typename subject_type::tree_type;
  using slot = typename subject_type::slot;
  using summand = typename subject_type::summand;
  static constexpr bool is_set = subject_type::is_set;
  static constexpr bool can_sum = subject_type::can_sum;

  [[nodiscard]] static const setting& here() { return *GetParam(); }

  /// Calls check(subject) for every sample.
  template <class Check>
  static void for_samples(const std::vector<sample>& samples, Check check) {
    for (const sample& what : samples) {
      SCOPED_TRACE(what.name());
      check(subject_type(here(), what));
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  using testing::TestWithParam<const setting*>::GetParam;
};

}  // namespace espalier::test
