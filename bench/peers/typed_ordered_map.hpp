// typed_ordered_map.hpp - std::map and absl::btree_map as peers of the B-link tree; ordered_map.cpp.in is compiled for
// each key type.
#pragma once

#include <absl/container/btree_map.h>

#include <map>
#include <memory>
#include <string_view>

#include "bench/peers/cpu_peer.hpp"
#include "bench/peers/map_queries.hpp"
#include "bench/peers/ordered_map.hpp"

namespace espalier::bench {

/// Raw is uint32_t, uint64_t, or unsigned char for a set.
template <class Map, class Key, class Raw>
class typed_ordered_map final : public ordered_map {
 public:
  typed_ordered_map(const data_spec& spec, unsigned threads) : queries_(spec), threads_(threads) {}

  void load(const column& keys, const column& values) override {
    map().clear();
    const auto from = keys.as<const Key>();
    const auto raw = values.as<const Raw>();
    for (std::size_t i = 0; i < from.size(); ++i) map().emplace(from[i], raw.data() != nullptr ? raw[i] : Raw{});
  }

  void insert_at_end(const column& keys, const column& values) override {
    insert_hinted(keys, values, [&] { return map().end(); });
  }
  void insert_at_begin(const column& keys, const column& values) override {
    insert_hinted(keys, values, [&] { return map().begin(); });
  }
  [[nodiscard]] std::uint64_t size() const override { return queries_.map().size(); }

  void run(const blink_step& step, const answers& out) override {
    const element_columns c(step, out);
    const auto ops = step.ops.as<const std::uint8_t>();
    for (std::size_t i = 0; i < step.size(); ++i) {
      const blink_op op = step.what == step_kind::write  ? as_element(step.op)
                          : step.what == step_kind::find ? blink_op::find
                                                         : static_cast<blink_op>(ops[i]);
      c.done[i] = apply(op, c, i) ? 1 : 0;
    }
  }

  void ask(operation op, const request& r) override {
    threads_.for_pieces(r.queries, [&](std::size_t first, std::size_t last) { queries_.ask(op, r, first, last); });
  }

 private:
  struct element_columns {
    element_columns(const blink_step& step, const answers& out)
        : keys(static_cast<const Key*>(step.keys.data())),
          values(static_cast<const Raw*>(step.values.data())),
          out_values(static_cast<Raw*>(out[0].data())),
          done(static_cast<std::uint8_t*>(out[1].data())) {}
    const Key* keys;
    const Raw* values;
    Raw* out_values;
    std::uint8_t* done;
  };

  [[nodiscard]] Map& map() { return queries_.map(); }
  template <class Hint>
  void insert_hinted(const column& keys, const column& values, Hint hint) {
    const auto from = keys.as<const Key>();
    const auto raw = values.as<const Raw>();
    for (std::size_t i = 0; i < from.size(); ++i) {
      map().insert(hint(), typename Map::value_type(from[i], raw.data() != nullptr ? raw[i] : Raw{}));
    }
  }
  static blink_op as_element(write_op op) {
    switch (op) {
      case write_op::insert:
        return blink_op::insert;
      case write_op::insert_or_assign:
        return blink_op::insert_or_assign;
      case write_op::update:
        return blink_op::update;
      default:
        return blink_op::erase;
    }
  }
  bool apply(blink_op op, const element_columns& c, std::size_t i) {
    const Raw value = c.values != nullptr ? c.values[i] : Raw{};
    switch (op) {
      case blink_op::insert:
        return map().emplace(c.keys[i], value).second;
      case blink_op::insert_or_assign:
        return map().insert_or_assign(c.keys[i], value).second;
      case blink_op::erase:
        return map().erase(c.keys[i]) != 0;
      default:
        break;
    }
    const auto at = map().find(c.keys[i]);
    const bool there = at != map().end();
    if (op == blink_op::find) {
      if (c.out_values != nullptr) c.out_values[i] = there ? at->second : Raw{};
    } else if (there) {
      at->second = value;
    }
    return there;
  }

  map_queries<Map, Key, Raw> queries_;
  worker_threads threads_;
};

template <class Key>
std::unique_ptr<ordered_map> make_typed_ordered_map(std::string_view name, const data_spec& spec, unsigned threads) {
  const auto make = [&]<class Raw>() -> std::unique_ptr<ordered_map> {
    if (name == "absl-btree") {
      return std::make_unique<typed_ordered_map<absl::btree_map<Key, Raw>, Key, Raw>>(spec, threads);
    }
    return std::make_unique<typed_ordered_map<std::map<Key, Raw>, Key, Raw>>(spec, threads);
  };
  switch (bytes_of(spec.value)) {
    case 0:
      return make.template operator()<unsigned char>();
    case 4:
      return make.template operator()<std::uint32_t>();
    default:
      return make.template operator()<std::uint64_t>();
  }
}

}  // namespace espalier::bench
