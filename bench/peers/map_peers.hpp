// map_peers.hpp - std::multimap and absl::btree_multimap as peers; map_peers.cpp.in is compiled for each key type.
//
// Multimaps are used, since the static tree keeps equal keys. They are filled in the order of the data, so that equal
// keys keep their order and `find` returns the first of them.
#pragma once

#include <absl/container/btree_map.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>

#include "bench/harness/element_checksum.hpp"
#include "bench/peers/cpu_peer.hpp"
#include "bench/peers/map_queries.hpp"

namespace espalier::bench {

/// Raw is uint32_t, uint64_t, or unsigned char for a set.
template <class Map, class Key, class Raw>
class map_peer final : public peer {
 public:
  map_peer(const workload& data, unsigned threads) : data_(data), threads_(threads), queries_(data.spec) {}

  [[nodiscard]] bool answers(operation op) const override { return op != operation::lower_bound; }
  void prepare() override {
    queries_.map().clear();
    const auto keys = data_.keys.template as<const Key>();
    const auto values = data_.values.template as<const Raw>();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      queries_.map().emplace(keys[i], values.data() != nullptr ? values[i] : Raw{});
    }
  }
  [[nodiscard]] std::size_t sample(operation op, std::size_t queries, double mean_length) const override {
    return takes_ranges(op) ? limited_sample(queries, mean_length, 0x1p24) : std::min(queries, most_peer_queries);
  }

  void run(operation op, const request& r) override {
    if (op == operation::build) return prepare();
    if (op == operation::visit) return visit(r);
    threads_.for_pieces(r.queries, [&](std::size_t first, std::size_t last) { queries_.ask(op, r, first, last); });
  }

 private:
  void visit(const request& r) const {
    std::uint64_t total = 0;
    for (const auto& [key, value] : queries_.map()) total += bits_of(key) + bits_of(value);
    *static_cast<std::uint64_t*>(r.out[0]) = total;
  }

  const workload& data_;
  worker_threads threads_;
  map_queries<Map, Key, Raw> queries_;
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
