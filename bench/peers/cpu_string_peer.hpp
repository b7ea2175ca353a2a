// cpu_string_peer.hpp - a map of byte strings on CPU threads as a peer of the radix tree.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "bench/peers/cpu_peer.hpp"
#include "bench/peers/string_peer.hpp"

namespace espalier::bench {

/// Map has `std::uint64_t* find(std::string_view)`, which returns null if the key does not exist.
template <class Map>
class cpu_string_peer final : public string_peer {
 public:
  cpu_string_peer(std::shared_ptr<Map> filled, unsigned threads) : map_(std::move(filled)), threads_(threads) {}

  void find(const espalier::detail::byte_keys& keys, std::uint64_t* values, std::uint8_t* found,
            const stream&) override {
    for_keys(keys, [=](std::size_t i, const std::uint64_t* value) {
      if (values != nullptr) values[i] = value == nullptr ? 0 : *value;
      found[i] = value == nullptr ? 0 : 1;
    });
  }
  void update(const espalier::detail::byte_keys& keys, const std::uint64_t* values, std::uint8_t* done,
              const stream&) override {
    for_keys(keys, [=](std::size_t i, std::uint64_t* value) {
      if (value != nullptr) std::atomic_ref(*value).store(values[i], std::memory_order_relaxed);
      done[i] = value == nullptr ? 0 : 1;
    });
  }

 private:
  template <class F>
  void for_keys(const espalier::detail::byte_keys& keys, const F& f) {
    threads_.for_pieces(keys.n, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) f(i, map_->find(key_at(keys, i)));
    });
  }
  static std::string_view key_at(const espalier::detail::byte_keys& keys, std::size_t i) {
    const auto* const bytes = reinterpret_cast<const char*>(keys.batch.bytes);
    if (keys.batch.offsets == nullptr) return {bytes + i * keys.batch.stride, keys.batch.stride};
    return {bytes + keys.batch.offsets[i], keys.batch.offsets[i + 1] - keys.batch.offsets[i]};
  }

  std::shared_ptr<Map> map_;
  worker_threads threads_;
};

}  // namespace espalier::bench
