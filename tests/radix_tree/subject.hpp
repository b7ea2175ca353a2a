// subject.hpp - a radix tree under test: calls take and give strings and vectors, and what they hand to the tree lies
// where the setting says: on the host, or as bytes, offsets and outputs in device memory.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "espalier/radix_tree/radix_tree.hpp"
#include "radix_tree/families.hpp"
#include "support/setting.hpp"

namespace espalier::test {

/// Keys handed to one call.
class lent_keys {
 public:
  lent_keys(const setting& s, const strings& keys)
      : keys_(keys), bytes_(s, joined(keys)), offsets_(s, ends(keys)), on_device_(s.spans == side::device) {}
  [[nodiscard]] byte_string_batch batch() {
    return on_device_ ? byte_string_batch(bytes_.in(), offsets_.in()) : byte_string_batch(keys_);
  }

 private:
  static array<char> joined(const strings& keys) {
    std::string all;
    for (const std::string& k : keys) all += k;
    return array<char>(std::span<const char>(all.data(), all.size()));
  }
  static array<std::uint64_t> ends(const strings& keys) {
    array<std::uint64_t> at(keys.size() + 1);
    for (std::size_t i = 0; i < keys.size(); ++i) at[i + 1] = at[i] + keys[i].size();
    return at;
  }
  strings keys_;
  lent<char> bytes_;
  lent<std::uint64_t> offsets_;
  bool on_device_;
};

/// How calls are made: those that wait, or their _async twins on the setting's own stream.
enum class calls : std::uint8_t { wait, enqueue };
enum class radix_op : std::uint8_t { insert, insert_or_assign, update, erase };

/// Elements as they are listed: of query i those from offsets[i] on.
template <class Value>
struct listed {
  std::vector<std::uint64_t> offsets;
  strings keys;
  std::vector<Value> values;
};

template <class Value>
class radix_subject {
  using mask = std::vector<std::uint8_t>;
  using numbers = std::vector<std::uint64_t>;

 public:
  using tree_type = radix_tree<Value>;
  using sum_type = typename tree_type::sum_type;

  radix_subject(const setting& s, const strings& keys, const std::vector<Value>& values,
                const radix_options& options = {}, calls how = calls::wait)
      : radix_subject(s, s.dev, keys, values, options, how) {}
  /// `where`: the setting's device with another pool.
  radix_subject(const setting& s, const device& dev, const strings& keys, const std::vector<Value>& values,
                const radix_options& options = {}, calls how = calls::wait)
      : setting_(&s), how_(how), tree_(build(s, dev, keys, values, options)) {}

  [[nodiscard]] const tree_type& tree() const { return tree_; }
  [[nodiscard]] std::size_t size() const { return tree_.size(); }

  // ---- points and ranks ----------------------------------------------------------------------------------------
  void find(const strings& asked, std::vector<Value>& values, mask& found) const {
    ask(asked, values, found, [&](const byte_string_batch& k, auto v, auto f, const stream& s) {
      waits() ? tree_.find(k, v, f, s) : tree_.find_async(k, v, f, s);
    });
  }
  void contains(const strings& asked, mask& found) const {
    ask(asked, found, [&](const byte_string_batch& k, auto f, const stream& s) {
      waits() ? tree_.contains(k, f, s) : tree_.contains_async(k, f, s);
    });
  }
  void rank(const strings& asked, numbers& ranks, bound_type bound = bound_type::lower) const {
    ask(asked, ranks, [&](const byte_string_batch& k, auto r, const stream& s) {
      waits() ? tree_.rank(k, r, bound, s) : tree_.rank_async(k, r, bound, s);
    });
  }
  void longest_prefix(const strings& asked, std::vector<std::uint32_t>& lengths, std::vector<Value>& values,
                      mask& found) const {
    lent<std::uint32_t> l(*setting_, asked.size());
    ask(asked, values, found, [&](const byte_string_batch& k, auto v, auto f, const stream& s) {
      waits() ? tree_.longest_prefix(k, l.span(), v, f, s) : tree_.longest_prefix_async(k, l.span(), v, f, s);
    });
    take(l, lengths);
  }

  // ---- ranges and prefixes -------------------------------------------------------------------------------------
  void count(const strings& lo, const strings& hi, numbers& counts, const range_options& o = {}) const {
    lent_keys to(*setting_, hi);
    ask(lo, counts, [&, h = to.batch()](const byte_string_batch& k, auto c, const stream& s) {
      waits() ? tree_.count(k, h, c, o, s) : tree_.count_async(k, h, c, o, s);
    });
  }
  void count_prefix(const strings& asked, numbers& counts, const range_options& o = {}) const {
    ask(asked, counts, [&](const byte_string_batch& k, auto c, const stream& s) {
      waits() ? tree_.count_prefix(k, c, o, s) : tree_.count_prefix_async(k, c, o, s);
    });
  }
  void sum(const strings& lo, const strings& hi, std::vector<sum_type>& sums, interval e) const {
    lent_keys to(*setting_, hi);
    ask(lo, sums, [&, h = to.batch()](const byte_string_batch& k, auto r, const stream& s) {
      waits() ? tree_.sum(k, h, r, e, s) : tree_.sum_async(k, h, r, e, s);
    });
  }
  void sum_prefix(const strings& asked, std::vector<sum_type>& sums) const {
    ask(asked, sums, [&](const byte_string_batch& k, auto r, const stream& s) {
      waits() ? tree_.sum_prefix(k, r, s) : tree_.sum_prefix_async(k, r, s);
    });
  }
  void avg(const strings& lo, const strings& hi, std::vector<double>& means, interval e) const {
    lent_keys to(*setting_, hi);
    ask(lo, means, [&, h = to.batch()](const byte_string_batch& k, auto r, const stream& s) {
      waits() ? tree_.avg(k, h, r, e, s) : tree_.avg_async(k, h, r, e, s);
    });
  }
  void avg_prefix(const strings& asked, std::vector<double>& means) const {
    ask(asked, means, [&](const byte_string_batch& k, auto r, const stream& s) {
      waits() ? tree_.avg_prefix(k, r, s) : tree_.avg_prefix_async(k, r, s);
    });
  }
  void min(const strings& lo, const strings& hi, std::vector<Value>& values, mask& found, interval e) const {
    lent_keys to(*setting_, hi);
    ask(lo, values, found, [&, h = to.batch()](const byte_string_batch& k, auto v, auto f, const stream& s) {
      waits() ? tree_.min(k, h, v, f, e, s) : tree_.min_async(k, h, v, f, e, s);
    });
  }
  void min_prefix(const strings& asked, std::vector<Value>& values, mask& found) const {
    ask(asked, values, found, [&](const byte_string_batch& k, auto v, auto f, const stream& s) {
      waits() ? tree_.min_prefix(k, v, f, s) : tree_.min_prefix_async(k, v, f, s);
    });
  }
  void max(const strings& lo, const strings& hi, std::vector<Value>& values, mask& found, interval e) const {
    lent_keys to(*setting_, hi);
    ask(lo, values, found, [&, h = to.batch()](const byte_string_batch& k, auto v, auto f, const stream& s) {
      waits() ? tree_.max(k, h, v, f, e, s) : tree_.max_async(k, h, v, f, e, s);
    });
  }
  void max_prefix(const strings& asked, std::vector<Value>& values, mask& found) const {
    ask(asked, values, found, [&](const byte_string_batch& k, auto v, auto f, const stream& s) {
      waits() ? tree_.max_prefix(k, v, f, s) : tree_.max_prefix_async(k, v, f, s);
    });
  }

  // ---- lists ---------------------------------------------------------------------------------------------------
  [[nodiscard]] listed<Value> range(const strings& lo, const strings& hi, const range_options& o = {}) const {
    lent_keys to(*setting_, hi);
    return list(lo, [&, h = to.batch()](const byte_string_batch& k, const stream& s) {
      return waits() ? tree_.range(k, h, o, s) : tree_.range_async(k, h, o, s);
    });
  }
  [[nodiscard]] listed<Value> prefix(const strings& asked, const range_options& o = {}) const {
    return list(asked, [&](const byte_string_batch& k, const stream& s) {
      return waits() ? tree_.prefix(k, o, s) : tree_.prefix_async(k, o, s);
    });
  }
  [[nodiscard]] listed<Value> lower_bound(const strings& asked) const {
    return list(asked, [&](const byte_string_batch& k, const stream& s) {
      return waits() ? tree_.lower_bound(k, s) : tree_.lower_bound_async(k, s);
    });
  }
  [[nodiscard]] listed<Value> upper_bound(const strings& asked) const {
    return list(asked, [&](const byte_string_batch& k, const stream& s) {
      return waits() ? tree_.upper_bound(k, s) : tree_.upper_bound_async(k, s);
    });
  }
  [[nodiscard]] listed<Value> successor(const strings& asked) const {
    return list(asked, [&](const byte_string_batch& k, const stream& s) {
      return waits() ? tree_.successor(k, s) : tree_.successor_async(k, s);
    });
  }
  [[nodiscard]] listed<Value> predecessor(const strings& asked) const {
    return list(asked, [&](const byte_string_batch& k, const stream& s) {
      return waits() ? tree_.predecessor(k, s) : tree_.predecessor_async(k, s);
    });
  }

  // ---- writes --------------------------------------------------------------------------------------------------
  void write(radix_op op, const strings& keys, const std::vector<Value>& values, mask& done,
             radix_path p = radix_path::automatic) {
    lent<Value> in(*setting_, std::span<const Value>(values));
    ask(keys, done, [&, v = in.in()](const byte_string_batch& k, auto d, const stream& s) {
      switch (op) {
        case radix_op::insert:
          return waits() ? tree_.insert(k, v, d, p, s) : tree_.insert_async(k, v, d, p, s);
        case radix_op::insert_or_assign:
          return waits() ? tree_.insert_or_assign(k, v, d, p, s) : tree_.insert_or_assign_async(k, v, d, p, s);
        case radix_op::update:
          return waits() ? tree_.update(k, v, d, s) : tree_.update_async(k, v, d, s);
        case radix_op::erase:
          return waits() ? tree_.erase(k, d, p, s) : tree_.erase_async(k, d, p, s);
      }
    });
  }

 private:
  static tree_type build(const setting& s, const device& dev, const strings& keys, const std::vector<Value>& values,
                         const radix_options& options) {
    lent_keys k(s, keys);
    lent<Value> v(s, std::span<const Value>(values));
    return tree_type::build(k.batch(), v.in(), options, dev);
  }
  [[nodiscard]] bool waits() const { return how_ == calls::wait; }
  void settle() const {
    if (!waits()) setting_->own.synchronize();
  }
  template <class T>
  static void take(lent<T>& from, std::vector<T>& to) {
    const array<T>& got = from.get();
    to.assign(got.begin(), got.end());
  }
  /// One output, or two.
  template <class A, class Call>
  void ask(const strings& asked, std::vector<A>& a, Call call) const {
    lent_keys keys(*setting_, asked);
    lent<A> x(*setting_, asked.size());
    call(keys.batch(), x.span(), setting_->own);
    settle();
    take(x, a);
  }
  template <class A, class B, class Call>
  void ask(const strings& asked, std::vector<A>& a, std::vector<B>& b, Call call) const {
    lent<B> y(*setting_, asked.size());
    ask(asked, a, [&](const byte_string_batch& k, auto x, const stream& s) { call(k, x, y.span(), s); });
    take(y, b);
  }
  template <class Call>
  [[nodiscard]] listed<Value> list(const strings& asked, Call call) const {
    lent_keys keys(*setting_, asked);
    const byte_range_result<Value> got = call(keys.batch(), setting_->own);
    settle();
    return {got.offsets.to_vector(), got.keys(), got.values.to_vector()};
  }

  const setting* setting_;
  calls how_;
  tree_type tree_;
};

}  // namespace espalier::test
