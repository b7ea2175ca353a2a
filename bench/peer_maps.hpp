// peer_maps.hpp - std::multimap and absl::btree_multimap as peers; one file per key type includes this.
//
// Multimaps, since the static tree keeps equal keys; they are filled in the order of the data, as a user would, so
// that equal keys keep their order and `find` means the first of them. Values are held by size, not by type.
#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <type_traits>

#include "bench/answers.hpp"
#include "bench/cpu_peer.hpp"
#include "bench/element_bits.hpp"

namespace espalier::bench {

/// Raw: uint32_t, uint64_t, or unsigned char for a set.
template <class Map, class Key, class Raw>
class map_peer final : public peer {
 public:
  map_peer(const workload& data, unsigned threads) : data_(data), threads_(threads) {}

  [[nodiscard]] bool answers(operation op) const override { return op != operation::lower_bound; }
  void prepare() override {
    map_.clear();
    const auto keys = data_.keys.template as<const Key>();
    const auto values = data_.values.template as<const Raw>();
    for (std::size_t i = 0; i < keys.size(); ++i) map_.emplace(keys[i], values.data() != nullptr ? values[i] : Raw{});
  }
  [[nodiscard]] std::size_t sample(operation op, std::size_t queries, double mean_length) const override {
    return takes_ranges(op) ? limited_sample(queries, mean_length, 0x1p24) : std::min(queries, most_peer_queries);
  }

  void run(operation op, const request& r) override {
    if (op == operation::build) return prepare();
    if (op == operation::visit) return visit(r);
    threads_.for_pieces(r.queries, [&](std::size_t first, std::size_t last) {
      if (op == operation::contains) {
        contains(r, first, last);
      } else if (!takes_ranges(op)) {
        find(r, first, last);
      } else if (op == operation::range) {
        range(r, first, last);
      } else {
        aggregate(op, r, first, last);
      }
    });
  }

 private:
  void visit(const request& r) const {
    std::uint64_t total = 0;
    for (const auto& [key, value] : map_) total += bits_of(key) + bits_of(value);
    *static_cast<std::uint64_t*>(r.out[0]) = total;
  }
  void contains(const request& r, std::size_t first, std::size_t last) const {
    const auto* keys = static_cast<const Key*>(r.keys);
    for (std::size_t i = first; i < last; ++i) static_cast<std::uint8_t*>(r.out[0])[i] = map_.contains(keys[i]);
  }
  void find(const request& r, std::size_t first, std::size_t last) const {
    const auto* keys = static_cast<const Key*>(r.keys);
    auto* values = static_cast<Raw*>(r.out[0]);
    auto* found = static_cast<std::uint8_t*>(r.out[1]);
    for (std::size_t i = first; i < last; ++i) {
      const auto at = map_.lower_bound(keys[i]);
      const bool hit = at != map_.end() && at->first == keys[i];
      found[i] = hit;
      if (values != nullptr) values[i] = hit ? at->second : Raw{};
    }
  }
  template <class F>
  void walk(const request& r, std::size_t i, F&& f) const {
    const auto hi = static_cast<const Key*>(r.hi)[i];
    for (auto at = map_.lower_bound(static_cast<const Key*>(r.keys)[i]); at != map_.end() && !(hi < at->first); ++at) {
      f(*at);
    }
  }
  void range(const request& r, std::size_t first, std::size_t last) const {
    const auto* offsets = static_cast<const std::uint64_t*>(r.out[0]);
    auto* keys = static_cast<Key*>(r.out[1]);
    auto* values = static_cast<Raw*>(r.out[2]);
    for (std::size_t i = first; i < last; ++i) {
      std::uint64_t to = offsets[i];
      walk(r, i, [&](const auto& pair) {
        keys[to] = pair.first;
        if (values != nullptr) values[to] = pair.second;
        ++to;
      });
    }
  }
  void aggregate(operation op, const request& r, std::size_t first, std::size_t last) const {
    const scalar_kind kind = data_.summands().kind();
    const bool over_keys = data_.spec.value == no_value;
    for (std::size_t i = first; i < last; ++i) {
      running_aggregate total;
      std::uint64_t count = 0;
      walk(r, i, [&](const auto& pair) {
        ++count;
        if (op != operation::count) {
          accumulate_bits(op, kind, over_keys ? bits_of(pair.first) : bits_of(pair.second), total);
        }
      });
      if (op == operation::count) {
        static_cast<std::uint64_t*>(r.out[0])[i] = count;
      } else {
        store(op, kind, total, r.out[0], r.out[1], i);
      }
    }
  }

  const workload& data_;
  worker_threads threads_;
  Map map_;
};

template <class Key>
std::unique_ptr<peer> make_map_peer(std::string_view name, const workload& data, unsigned threads) {
  const auto make = [&]<class Raw>() -> std::unique_ptr<peer> {
    if (name == "absl-btree") {
      return std::make_unique<map_peer<absl::btree_multimap<Key, Raw>, Key, Raw>>(data, threads);
    }
    return std::make_unique<map_peer<std::multimap<Key, Raw>, Key, Raw>>(data, threads);
  };
  switch (bytes_of(data.spec.value)) {
    case 0:
      return make.template operator()<unsigned char>();
    case 4:
      return make.template operator()<std::uint32_t>();
    default:
      return make.template operator()<std::uint64_t>();
  }
}

}  // namespace espalier::bench
