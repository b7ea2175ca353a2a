// map_queries.hpp - queries to a C++ map or multimap. Values are represented by size, not by type.
#pragma once

#include <cstdint>

#include "bench/data/answers.hpp"
#include "bench/harness/element_checksum.hpp"
#include "bench/index/request.hpp"

namespace espalier::bench {

/// Raw is uint32_t, uint64_t, or unsigned char for a set.
template <class Map, class Key, class Raw>
class map_queries {
 public:
  explicit map_queries(const data_spec& spec) : spec_(spec) {}

  /// Runs queries [first, last) of a request.
  void ask(operation op, const request& r, std::size_t first, std::size_t last) const {
    if (op == operation::contains) {
      contains(r, first, last);
    } else if (asks_neighbours(op)) {
      neighbour(op, r, first, last);
    } else if (!takes_ranges(op)) {
      find(r, first, last);
    } else if (op == operation::range) {
      range(r, first, last);
    } else {
      aggregate(op, r, first, last);
    }
  }
  [[nodiscard]] Map& map() { return map_; }
  [[nodiscard]] const Map& map() const { return map_; }

 private:
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
  void neighbour(operation op, const request& r, std::size_t first, std::size_t last) const {
    const auto* keys = static_cast<const Key*>(r.keys);
    auto* out_keys = static_cast<Key*>(r.out[0]);
    auto* values = static_cast<Raw*>(r.out[1]);
    auto* found = static_cast<std::uint8_t*>(r.out[2]);
    for (std::size_t i = first; i < last; ++i) {
      auto at = op == operation::successor ? map_.upper_bound(keys[i]) : map_.lower_bound(keys[i]);
      const bool hit = at != (op == operation::predecessor ? map_.begin() : map_.end());
      if (hit && op == operation::predecessor) --at;
      found[i] = hit;
      out_keys[i] = hit ? at->first : Key{};
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
    const bool over_keys = spec_.value == no_value;
    const scalar_kind kind = over_keys ? spec_.key : spec_.value;
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

  data_spec spec_;
  Map map_;
};

}  // namespace espalier::bench
