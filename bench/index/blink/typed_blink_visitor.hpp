// typed_blink_visitor.hpp - visitors for one key type; blink_visitor.cpp.in is compiled for each key type.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "bench/index/blink/blink_visitor.hpp"
#include "bench/index/gpu_visit.hpp"
#include "bench/index/visit_all.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/blink_tree/visit.hpp"

namespace espalier::bench {

template <class Key, class Value, class Policy>
class typed_blink_visitor final : public blink_visitor {
  using tree_type = blink_tree<Key, Value, Policy>;

#ifdef ESPALIER_HAS_CUDA
  static constexpr bool gpu_too = visits_on_gpu<Key, Value, Policy>();
#else
  static constexpr bool gpu_too = false;
#endif

 public:
  [[nodiscard]] static std::unique_ptr<blink_visitor> make(const blink_pairs& pairs) {
    if (pairs.dev.kind() == device_kind::cuda && !gpu_too) return nullptr;
    return std::make_unique<typed_blink_visitor>(pairs);
  }
  explicit typed_blink_visitor(const blink_pairs& pairs) : tree_(build(pairs)) {}

  [[nodiscard]] std::uint64_t visit() const override {
    if constexpr (gpu_too) {
      if (tree_.get_device().kind() == device_kind::cuda) return visit_on_gpu(tree_);
    }
    return visit_all(tree_);
  }
  [[nodiscard]] blink_stats stats() const override { return tree_.stats(); }

 private:
  static tree_type build(const blink_pairs& from) {
    const std::span<const Key> keys(static_cast<const Key*>(from.keys), from.size);
    if constexpr (std::is_void_v<Value>) {
      return tree_type::build(keys, from.options, from.dev);
    } else {
      const std::span<const Value> values(static_cast<const Value*>(from.values), from.size);
      return tree_type::build(keys, values, from.options, from.dev);
    }
  }

  tree_type tree_;
};

/// Shapes other than the default, with values as wide as their keys. Each costs a second of compile time, so they are
/// compiled for u32 and u64 keys only.
template <class Key>
std::unique_ptr<blink_visitor> make_shaped_blink_visitor(protocol how, inner_index above, unsigned slots,
                                                         const blink_pairs& pairs) {
  const auto make = [&]<protocol How, inner_index Above, unsigned Slots>() -> std::unique_ptr<blink_visitor> {
    return typed_blink_visitor<Key, word_of<Key>, blink_policy<How, Above, Slots>>::make(pairs);
  };
  switch (slots) {
    case 8:
      return make.template operator()<protocol::blink, inner_index::express_lane, 8>();
    case 32:
      return make.template operator()<protocol::blink, inner_index::express_lane, 32>();
    case 128:
      return make.template operator()<protocol::blink, inner_index::express_lane, 128>();
    case 4096:
      return make.template operator()<protocol::blink, inner_index::express_lane, 4096>();
    default:
      break;
  }
  if (how == protocol::latch_coupling)
    return make.template operator()<protocol::latch_coupling, inner_index::inner_nodes, 0>();
  if (how == protocol::blink) return make.template operator()<protocol::blink, inner_index::inner_nodes, 0>();
  if (above == inner_index::express_lane)
    return make.template operator()<protocol::single_writer, inner_index::express_lane, 0>();
  return make.template operator()<protocol::single_writer, inner_index::inner_nodes, 0>();
}

template <class Key>
std::unique_ptr<blink_visitor> make_typed_blink_visitor(scalar_kind value, const blink_shape& shape,
                                                        const blink_pairs& pairs) {
  const unsigned slots = shape.slots == espalier::detail::node_slots<word_of<Key>>(0) ? 0 : shape.slots;
  if (shape.protocol != protocol::blink || shape.inner != inner_index::express_lane || slots != 0) {
    if constexpr (std::is_same_v<Key, word_of<Key>>) {
      return make_shaped_blink_visitor<Key>(shape.protocol, shape.inner, slots, pairs);
    }
    return nullptr;
  }
  switch (bytes_of(value)) {
    case 0:
      return typed_blink_visitor<Key, void, blink_policy<>>::make(pairs);
    case 4:
      return typed_blink_visitor<Key, std::uint32_t, blink_policy<>>::make(pairs);
    default:
      return typed_blink_visitor<Key, std::uint64_t, blink_policy<>>::make(pairs);
  }
}

}  // namespace espalier::bench
