// blink_subject.hpp - a B-link tree under test with its model. Every write checks its results, the structure and the
// size; the content is compared if a test requests it.
//
// If a batch has equal keys and their order is unspecified, the results determine the order: the subject checks that a
// valid one exists, and applies it to the model.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/subject.hpp"  // expect_same, make_queries, sample, pair_of_words
#include "espalier/blink_tree/blink_tree.hpp"
#include "support/linearizability.hpp"
#include "support/map_model.hpp"
#include "support/setting.hpp"

namespace espalier::test {

inline constexpr write_path all_paths[] = {write_path::per_key, write_path::bulk, write_path::automatic};
inline constexpr batch_semantics all_semantics[] = {batch_semantics::concurrent, batch_semantics::ordered};

[[nodiscard]] inline std::string to_string(const write_options& options) {
  return espalier::to_string(options.path) +
         (options.semantics == batch_semantics::ordered ? ", ordered" : ", concurrent");
}
[[nodiscard]] inline std::string to_string(write_op op) {
  static constexpr const char* names[] = {"insert", "insert_or_assign", "update", "erase"};
  return names[static_cast<unsigned>(op)];
}

/// Values with all bits clear or set are included, since no value is reserved. Floats are finite, for sums.
template <class Value>
[[nodiscard]] Value any_value(std::size_t i) {
  Value v = make_value<Value>(i);
  if (!std::is_floating_point_v<Value> && i % 7 < 2)
    std::memset(static_cast<void*>(&v), i % 7 == 0 ? 0 : 0xff, sizeof v);
  return v;
}
template <class Value>
[[nodiscard]] array<Value> any_values(std::size_t n, std::size_t first = 0) {
  array<Value> values(n);
  for (std::size_t i = 0; i < n; ++i) values[i] = any_value<Value>(first + i);
  return values;
}

/// `part(a, i, n)` returns elements [i, i + n) of an array.
template <class T>
[[nodiscard]] array<T> part(const array<T>& a, std::size_t first, std::size_t n) {
  return array<T>(a.span().subspan(first, n));
}

/// Returns the distinct keys in the order of their first occurrence.
template <class Key>
[[nodiscard]] array<Key> distinct(const array<Key>& keys) {
  map_model<Key, void> seen;
  std::vector<Key> kept;
  for (const Key key : keys) {
    if (seen.apply(blink_op::insert, key)) kept.push_back(key);
  }
  return array<Key>(std::span<const Key>(kept));
}

template <class Key, class Value, class Policy = blink_policy<>>
class blink_subject {
 public:
  using tree_type = blink_tree<Key, Value, Policy>;
  using model_type = map_model<Key, Value>;
  using slot = typename model_type::slot;
  using summand = std::conditional_t<model_type::is_set, Key, slot>;
  using mask = array<std::uint8_t>;
  static constexpr bool is_set = model_type::is_set;
  static constexpr bool can_sum = scalar_kind_of<summand> != scalar_kind::opaque;

  explicit blink_subject(const setting& s, const blink_options& options = {}) : here_(&s), tree_(s.dev, options) {}
  blink_subject(const setting& s, const array<Key>& keys, const array<slot>& values, const blink_options& options = {})
      : here_(&s), model_(keys, values), tree_(build(s, keys, values, options)) {
    check_structure("build");
  }
  explicit blink_subject(const setting& s, const array<Key>& keys) : blink_subject(s, keys, blink_options{}) {}
  blink_subject(const setting& s, const array<Key>& keys, const blink_options& options)
      : blink_subject(s, keys, any_values<slot>(is_set ? 0 : keys.size()), options) {}

  [[nodiscard]] const setting& here() const { return *here_; }
  [[nodiscard]] tree_type& tree() { return tree_; }
  [[nodiscard]] const tree_type& tree() const { return tree_; }
  [[nodiscard]] const model_type& model() const { return model_; }
  [[nodiscard]] static std::size_t values_for(std::size_t n) { return is_set ? 0 : n; }

  // ---- writes --------------------------------------------------------------------------------------------

  void write(write_op op, const array<Key>& keys, const array<slot>& values, const write_options& options = {},
             bool async = false) {
    SCOPED_TRACE(to_string(op) + " of " + std::to_string(keys.size()) + ", " + to_string(options));
    lent<Key> k(*here_, keys);
    lent<slot> v(*here_, op == write_op::erase ? array<slot>() : values);
    lent<std::uint8_t> done(*here_, keys.size());
    call(op, k.in(), v.in(), done.span(), options, async);
    if (async) here_->own.synchronize();
    array<blink_op> ops(keys.size());
    std::fill(ops.begin(), ops.end(), op_of(op));
    follow(ops, keys, values, {}, done.get(), options.semantics);
    check_structure(to_string(op));
  }
  void write(write_op op, const array<Key>& keys, const write_options& options = {}, bool async = false) {
    write(op, keys, next_values(keys.size()), options, async);
  }
  void insert(const array<Key>& keys, const write_options& options = {}) { write(write_op::insert, keys, options); }
  void erase(const array<Key>& keys, const write_options& options = {}) { write(write_op::erase, keys, options); }

  void apply(const array<blink_op>& ops, const array<Key>& keys, const write_options& options = {},
             bool async = false) {
    SCOPED_TRACE("apply of " + std::to_string(keys.size()) + ", " + to_string(options));
    const array<slot> values = next_values(keys.size());
    lent<blink_op> o(*here_, ops);
    lent<Key> k(*here_, keys);
    lent<slot> v(*here_, values), answers(*here_, values_for(keys.size()));
    lent<std::uint8_t> done(*here_, keys.size());
    const array<slot> untouched = answers.get();
    if (async) {
      tree_.apply_async(o.in(), k.in(), v.in(), answers.span(), done.span(), options, here_->own);
      here_->own.synchronize();
    } else {
      tree_.apply(o.in(), k.in(), v.in(), answers.span(), done.span(), options);
    }
    const array<slot>& answer = answers.get();
    for (std::size_t i = 0; i < untouched.size(); ++i) {
      if (ops[i] == blink_op::find) continue;
      ASSERT_TRUE(same(answer[i], untouched[i])) << "apply wrote an answer for the write at " << i;
    }
    follow(ops, keys, values, answer, done.get(), options.semantics);
    check_structure("apply");
  }

  void maintain() {
    tree_.maintain();
    check_structure("maintain");
  }
  void clear() {
    tree_.clear();
    model_.clear();
    check_structure("clear");
  }

  /// Returns values that no earlier write of this subject used, except for the two that every batch has.
  [[nodiscard]] array<slot> next_values(std::size_t n) {
    fresh_ += n;
    return any_values<slot>(values_for(n), fresh_);
  }

  // ---- checks --------------------------------------------------------------------------------------------

  void check_structure(const std::string& after) const {
    const validation v = tree_.validate();
    ASSERT_TRUE(v.ok) << "after " << after << ": " << v.problem;
    ASSERT_EQ(tree_.size(), model_.size()) << "after " << after;
    ASSERT_EQ(tree_.empty(), model_.size() == 0) << "after " << after;
  }

  /// Checks every element, by one range over all keys and by a snapshot.
  void check_content() const {
    const array<Key> want_keys = model_.keys();
    const array<slot> want_values = model_.values();
    lent<Key> lo(*here_, array<Key>{lowest_key<Key>()}), hi(*here_, array<Key>{highest_key<Key>()});
    const auto all = tree_.range(lo.in(), hi.in());
    expect_same("keys of everything", to_host(*here_, all.keys), want_keys);
    expect_same("values of everything", to_host(*here_, all.values), want_values);
    const static_tree<Key, Value> copy = tree_.snapshot();
    ASSERT_EQ(copy.size(), want_keys.size()) << "snapshot";
    const auto copied = copy.range(lo.in(), hi.in());
    expect_same("keys of a snapshot", to_host(*here_, copied.keys), want_keys);
    expect_same("values of a snapshot", to_host(*here_, copied.values), want_values);
  }

 private:
  static tree_type build(const setting& s, const array<Key>& keys, const array<slot>& values,
                         const blink_options& options) {
    lent<Key> k(s, keys);
    lent<slot> v(s, values);
    if constexpr (is_set) {
      return tree_type::build(k.in(), options, s.dev);
    } else {
      return tree_type::build(k.in(), v.in(), options, s.dev);
    }
  }

  void call(write_op op, std::span<const Key> keys, std::span<const slot> values, std::span<std::uint8_t> done,
            const write_options& options, bool async) {
    const stream& own = here_->own;
    if (op == write_op::erase) {
      return async ? tree_.erase_async(keys, done, options, own) : tree_.erase(keys, done, options);
    }
    if constexpr (is_set) {
      ASSERT_EQ(op, write_op::insert) << "a set has no values to assign";
      async ? tree_.insert_async(keys, done, options, own) : tree_.insert(keys, done, options);
    } else if (op == write_op::insert) {
      async ? tree_.insert_async(keys, values, done, options, own) : tree_.insert(keys, values, done, options);
    } else if (op == write_op::insert_or_assign) {
      async ? tree_.insert_or_assign_async(keys, values, done, options, own)
            : tree_.insert_or_assign(keys, values, done, options);
    } else {
      async ? tree_.update_async(keys, values, done, options, own) : tree_.update(keys, values, done, options);
    }
  }

  /// Applies the operations on the tree to the model.
  void follow(const array<blink_op>& ops, const array<Key>& keys, const array<slot>& values, const array<slot>& answers,
              const mask& done, batch_semantics semantics) {
    // Equal keys of one batch are adjacent, in batch order.
    std::vector<std::size_t> order(keys.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return precedes(keys[a], keys[b]); });
    for (std::size_t first = 0, last; first < order.size(); first = last) {
      for (last = first + 1; last < order.size() && !precedes(keys[order[first]], keys[order[last]]);) ++last;
      const std::span<const std::size_t> equal(order.data() + first, last - first);
      if (semantics == batch_semantics::ordered || equal.size() == 1) {
        follow_in_order(equal, ops, keys, values, answers, done);
      } else {
        follow_any_order(equal, ops, keys, values, answers, done);
      }
      if (testing::Test::HasFatalFailure()) return;
    }
  }

  void follow_in_order(std::span<const std::size_t> equal, const array<blink_op>& ops, const array<Key>& keys,
                       const array<slot>& values, const array<slot>& answers, const mask& done) {
    for (const std::size_t i : equal) {
      slot answer{};
      const bool want = model_.apply(ops[i], keys[i], value_at(values, i), answer);
      ASSERT_EQ(done[i], want ? 1 : 0) << "element " << i << ", operation " << static_cast<int>(ops[i]) << " on key "
                                       << testing::PrintToString(keys[i]);
      if (is_set || ops[i] != blink_op::find) continue;
      ASSERT_TRUE(same(answers[i], answer)) << "answer of find " << i << " for key " << testing::PrintToString(keys[i]);
    }
  }

  /// Checks whether an order of concurrent operations explains their results and a final find.
  void follow_any_order(std::span<const std::size_t> equal, const array<blink_op>& ops, const array<Key>& keys,
                        const array<slot>& values, const array<slot>& answers, const mask& done) {
    const Key key = keys[equal.front()];
    std::vector<slot> names;  // values may have 16 bytes, so each gets a number
    const auto name = [&](const slot& value) -> std::uint64_t {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (std::memcmp(&names[i], &value, sizeof value) == 0) return i;
      }
      names.push_back(value);
      return names.size() - 1;
    };
    map_register before;
    if (const auto at = model_.elements().find(key); at != model_.elements().end()) {
      before = map_register::holding(name(at->second));
    }
    std::vector<recorded_op> history;
    for (const std::size_t i : equal) {
      ASSERT_LE(done[i], 1) << "element " << i;
      const bool found = !is_set && ops[i] == blink_op::find && done[i] != 0;
      history.push_back({0, name(value_at(values, i)), found ? name(answers[i]) : name({}), 0, 1, ops[i], done[i]});
      if (is_set) history.back().answer = 0;
    }
    slot now{};
    const bool there = current(key, now);
    history.push_back({0, 0, there ? name(now) : 0, 2, 3, blink_op::find, static_cast<std::uint8_t>(there)});
    const verdict v = key_history(history, before).check();
    ASSERT_EQ(v, verdict::linearizable) << history_text(history, before);
    model_.apply(blink_op::erase, key);
    if (there) model_.apply(blink_op::insert, key, now);
  }

  [[nodiscard]] static std::string history_text(const std::vector<recorded_op>& history, const map_register& before) {
    std::string text = before.there ? "before: " + std::to_string(before.value) : std::string("before: absent");
    for (const recorded_op& op : history) text += "\n  " + to_string(op);
    return text;
  }

  [[nodiscard]] bool current(Key key, slot& value) const {
    lent<Key> k(*here_, array<Key>{key});
    lent<slot> v(*here_, values_for(1));
    lent<std::uint8_t> found(*here_, 1);
    tree_.find(k.in(), v.span(), found.span());
    if constexpr (!is_set) value = v.get()[0];
    return found.get()[0] != 0;
  }
  [[nodiscard]] static slot value_at(const array<slot>& values, std::size_t i) {
    return values.empty() ? slot{} : values[i];
  }

  const setting* here_;
  model_type model_;
  tree_type tree_;
  std::size_t fresh_ = 1'000'000;
};

}  // namespace espalier::test
