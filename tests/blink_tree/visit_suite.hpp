// visit_suite.hpp - for_each, transform and reduce over B-link trees of every kind: one text for CPU and GPU trees.
//
// Functors are named types with ESPALIER_HD calls, so that g++ and nvcc both compile this file. Everything is local to
// its unit: visits compiled by nvcc know GPUs and those compiled by g++ do not, so the linker must not merge them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "espalier/blink_tree/visit.hpp"
#include "support/families.hpp"
#include "support/map_model.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

/// A number that tells an element from others.
struct mark_of_element {
  template <class Key>
  ESPALIER_HD std::uint64_t operator()(const Key& key) const {
    std::uint64_t word = 0;
    if (key == key) memcpy(&word, &key, sizeof(key));  // all NaN are one key
    word *= 0x9e3779b97f4a7c15u;
    return word ^ word >> 29;
  }
  template <class Key, class Value>
  ESPALIER_HD std::uint64_t operator()(const Key& key, const Value& value) const {
    std::uint64_t words[2] = {0, 0};
    static_assert(sizeof(value) <= sizeof(words));
    memcpy(words, &value, sizeof(value));
    return (*this)(key)*3 + (*this)(words[0]) * 5 + (*this)(words[1]) * 7;
  }
};
struct plus_u64 {
  ESPALIER_HD std::uint64_t operator()(std::uint64_t a, std::uint64_t b) const { return a + b; }
};
/// x -> scale * x + shift, modulo 2^64. Composition is associative and does not commute.
struct affine {
  std::uint64_t scale, shift;
};
struct affine_of_element {
  template <class... Element>
  ESPALIER_HD affine operator()(const Element&... element) const {
    const std::uint64_t mark = mark_of_element{}(element...);
    return {2 * mark + 1, mark >> 7};
  }
};
struct then {
  ESPALIER_HD affine operator()(const affine& first, const affine& second) const {
    return {second.scale * first.scale, second.scale * first.shift + second.shift};
  }
};

struct pair_value {
  std::uint64_t first, second;
};

template <class Key, class Value, class Policy = blink_policy<>>
struct visited_kind {
  using key = Key;
  using value = Value;
  using policy = Policy;
};

template <class Kind>
class blink_visit_suite : public testing::Test {
 protected:
  using key = typename Kind::key;
  using value = typename Kind::value;
  using tree_type = blink_tree<key, value, typename Kind::policy>;
  using model_type = map_model<key, value>;
  using slot = typename model_type::slot;

  /// Marks of what the tree must hold, in key order.
  static std::vector<std::uint64_t> marks_of(const model_type& model) {
    const auto keys = model.keys();
    const auto values = model.values();
    std::vector<std::uint64_t> marks;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if constexpr (model_type::is_set) {
        marks.push_back(mark_of_element{}(keys[i]));
      } else {
        marks.push_back(mark_of_element{}(keys[i], values[i]));
      }
    }
    return marks;
  }

  /// A tree and what it must hold.
  struct subject {
    tree_type tree;
    model_type model;
    void insert(const array<key>& keys) {
      const auto values = make_values<slot>(model_type::is_set ? 0 : keys.size());
      if constexpr (model_type::is_set) {
        tree.insert(keys.span(), {}, one_by_one);
      } else {
        tree.insert_or_assign(keys.span(), values.span(), {}, {batch_semantics::ordered, write_path::per_key});
      }
      for (std::size_t i = 0; i < keys.size(); ++i) {
        model.apply(blink_op::insert_or_assign, keys[i], model_type::is_set ? slot{} : values[i]);
      }
    }
    void erase(const array<key>& keys) {
      tree.erase(keys.span(), {}, one_by_one);
      for (const key k : keys) model.apply(blink_op::erase, k);
    }
    static constexpr write_options one_by_one{batch_semantics::concurrent, write_path::per_key};
  };

  /// check(setting, tree, marks) for trees that were just built, that grew key by key, and that shrank.
  template <class Check>
  static void for_trees(const std::vector<const setting*>& settings, const std::vector<std::size_t>& sizes,
                        Check check) {
    for (const setting* here : settings) {
      for (const std::size_t n : sizes) {
        SCOPED_TRACE(here->name + ", " + std::to_string(n) + " keys");
        subject s{tree_type(here->dev), {}};
        s.insert(make_keys<key>(family::uniform, n));
        s.tree.maintain();
        check(*here, s.tree, marks_of(s.model));
        s.insert(make_keys<key>(family::clustered, n / 3));
        check(*here, s.tree, marks_of(s.model));
        const auto keys = s.model.keys();
        s.erase(array<key>(keys.span().subspan(keys.size() / 8, keys.size() / 2)));
        check(*here, s.tree, marks_of(s.model));
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  static void check_reduce(const setting&, const tree_type& tree, const std::vector<std::uint64_t>& marks) {
    std::uint64_t sum = 1000;
    affine all{3, 5};
    for (const std::uint64_t mark : marks) {
      sum += mark;
      all = then{}(all, {2 * mark + 1, mark >> 7});
    }
    for (const visit_order order : {visit_order::any, visit_order::by_key}) {
      ASSERT_EQ(reduce(tree, std::uint64_t{1000}, mark_of_element{}, plus_u64{}, order), sum);
    }
    const affine got = reduce(tree, affine{3, 5}, affine_of_element{}, then{}, visit_order::by_key);
    ASSERT_EQ(got.scale, all.scale) << "in key order";
    ASSERT_EQ(got.shift, all.shift) << "in key order";
  }

  static void check_transform(const setting& here, const tree_type& tree, const std::vector<std::uint64_t>& marks) {
    const std::size_t n = marks.size();
    for (const std::size_t room : {n, n + 7, n / 2, std::size_t{0}}) {
      lent<std::uint64_t> out(here, room);
      const std::uint64_t untouched = room == 0 ? 0 : out.get()[0];
      ASSERT_EQ(transform(tree, out.span(), mark_of_element{}), n);
      const auto& got = out.get();
      for (std::size_t i = 0; i < room; ++i) ASSERT_EQ(got[i], i < n ? marks[i] : untouched) << "rank " << i;
    }
  }

  static void check_async(const setting& here, const tree_type& tree, const std::vector<std::uint64_t>& marks) {
    std::uint64_t sum = 0, want = 7;
    for (const std::uint64_t mark : marks) want += mark;
    lent<std::uint64_t> out(here, marks.size());
    std::size_t size = 1;
    reduce_async(tree, &sum, std::uint64_t{7}, mark_of_element{}, plus_u64{}, visit_order::any, here.own);
    transform_async(tree, out.span(), mark_of_element{}, &size, here.own);
    here.own.synchronize();
    ASSERT_EQ(sum, want);
    ASSERT_EQ(size, marks.size());
    const auto& got = out.get();
    for (std::size_t i = 0; i < marks.size(); ++i) ASSERT_EQ(got[i], marks[i]) << "rank " << i;
  }
};

}  // namespace
}  // namespace espalier::test
