// typed_system_under_test.hpp - static trees with one key type; system_under_test.cpp.in is compiled for each key type.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>

#include "bench/index/gpu_visit.hpp"
#include "bench/index/static/system_under_test.hpp"
#include "bench/index/visit_all.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "espalier/static_tree/visit.hpp"

namespace espalier::bench {

template <class Key, class Value>
class typed_system_under_test final : public system_under_test {
  using tree_type = static_tree<Key, Value>;
  using slot = std::conditional_t<std::is_void_v<Value>, unsigned char, Value>;
  using summand = std::conditional_t<std::is_void_v<Value>, Key, slot>;
  using sum_type = typename tree_type::sum_type;

  template <class T>
  static std::span<const T> in(const void* p, std::size_t n) {
    return {static_cast<const T*>(p), n};
  }
  template <class T>
  static std::span<T> out(void* p, std::size_t n) {
    return {static_cast<T*>(p), p == nullptr ? 0 : n};
  }

 public:
  void build(const build_request& what, const device& dev) override {
    tree_.reset();
    if constexpr (std::is_void_v<Value>) {
      tree_.emplace(tree_type::build(in<Key>(what.keys, what.size), what.options, dev));
    } else {
      tree_.emplace(
          tree_type::build(in<Key>(what.keys, what.size), in<Value>(what.values, what.size), what.options, dev));
    }
  }
  void clear() override { tree_.reset(); }

  void run(operation op, const request& r) const override {
    switch (op) {
      case operation::find:
      case operation::find_sorted:
      case operation::contains:
      case operation::lower_bound:
        return run_points(op, r);
      case operation::range:
        return run_range(r);
      default:
        return run_aggregates(op, r);
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> visit() const override {
    if (tree_->get_device().kind() == device_kind::cpu) return visit_all(*tree_);
#ifdef ESPALIER_HAS_CUDA
    if constexpr (requires { visit_on_gpu(*tree_); }) return visit_on_gpu(*tree_);
#endif
    return {};
  }

  [[nodiscard]] tree_stats stats() const override { return tree_->stats(); }
  [[nodiscard]] validation validate() const override { return tree_->validate(); }
  [[nodiscard]] explanation explain(std::size_t queries, const query_options& options) const override {
    return tree_->explain(queries, options);
  }

 private:
  void run_points(operation op, const request& r) const {
    const auto keys = in<Key>(r.keys, r.queries);
    const std::size_t n = r.queries;
    if (op == operation::contains) {
      const auto found = out<std::uint8_t>(r.out[0], n);
      r.wait ? tree_->contains(keys, found, r.options, r.order)
             : tree_->contains_async(keys, found, r.options, r.order);
    } else if (op == operation::lower_bound) {
      const auto ranks = out<std::uint64_t>(r.out[0], n);
      r.wait ? tree_->rank(keys, ranks, bound_type::lower, r.options, r.order)
             : tree_->rank_async(keys, ranks, bound_type::lower, r.options, r.order);
    } else {
      const auto values = out<slot>(r.out[0], n);
      const auto found = out<std::uint8_t>(r.out[1], n);
      r.wait ? tree_->find(keys, values, found, r.options, r.order)
             : tree_->find_async(keys, values, found, r.options, r.order);
    }
  }

  void run_range(const request& r) const {
    const auto lo = in<Key>(r.keys, r.queries);
    const auto offsets = out<std::uint64_t>(r.out[0], r.queries + 1);
    tree_->range_offsets_async(lo, in<Key>(r.hi, r.queries), offsets, {}, r.order);
    tree_->range_fill_async(lo, offsets, out<Key>(r.out[1], r.elements), out<slot>(r.out[2], r.elements), {}, r.order);
    if (r.wait) tree_->get_device().resolve(r.order).synchronize();
  }

  void run_aggregates(operation op, const request& r) const {
    const std::size_t n = r.queries;
    const auto lo = in<Key>(r.keys, n), hi = in<Key>(r.hi, n);
    if (op == operation::count) {
      tree_->count_async(lo, hi, out<std::uint64_t>(r.out[0], n), {}, r.order);
    } else if (op == operation::sum) {
      tree_->sum_async(lo, hi, out<sum_type>(r.out[0], n), interval::closed, r.order);
    } else if (op == operation::avg) {
      tree_->avg_async(lo, hi, out<double>(r.out[0], n), interval::closed, r.order);
    } else if (op == operation::min) {
      tree_->min_async(lo, hi, out<summand>(r.out[0], n), out<std::uint8_t>(r.out[1], n), interval::closed, r.order);
    } else {
      tree_->max_async(lo, hi, out<summand>(r.out[0], n), out<std::uint8_t>(r.out[1], n), interval::closed, r.order);
    }
    if (r.wait) tree_->get_device().resolve(r.order).synchronize();
  }

  std::optional<tree_type> tree_;
};

template <class Key>
std::unique_ptr<system_under_test> make_typed_system_under_test(scalar_kind value) {
  if (value == no_value) return std::make_unique<typed_system_under_test<Key, void>>();
  return with_built_type(value, []<class Value>() -> std::unique_ptr<system_under_test> {
    return std::make_unique<typed_system_under_test<Key, Value>>();
  });
}

}  // namespace espalier::bench
