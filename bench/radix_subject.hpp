// radix_subject.hpp - the radix tree under measurement, by its untyped interface, which can be asked any question
// without waiting; and batches of strings where its device can read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "bench/byte_generators.hpp"
#include "bench/placed.hpp"
#include "bench/subject.hpp"
#include "espalier/radix_tree/radix_tree.hpp"

namespace espalier::bench {

class placed_strings {
 public:
  /// `one_length`: of every key, or 0. Then no offsets are given to the tree.
  placed_strings(const byte_column& host, std::size_t one_length, const device& where)
      : host_(host),
        one_length_(one_length),
        bytes_(host.bytes.data(), host.bytes.size(), where),
        offsets_(host.offsets.data(), one_length == 0 ? host.offsets.size() * sizeof(std::uint64_t) : 0, where) {}

  [[nodiscard]] keys_of_bytes keys() const {
    const std::span bytes(static_cast<const char*>(bytes_.data()), host_.bytes.size());
    if (one_length_ != 0) return {bytes, one_length_};
    return {bytes, std::span(static_cast<const std::uint64_t*>(offsets_.data()), host_.offsets.size())};
  }

 private:
  const byte_column& host_;
  std::size_t one_length_;
  placed_column bytes_, offsets_;
};

class radix_subject {
 public:
  radix_subject(device where, long_key_way long_keys) : where_(std::move(where)) { options_.long_keys = long_keys; }

  [[nodiscard]] bool built() const { return tree_ != nullptr; }
  /// Replaces the tree, freeing the old one first.
  void build(const keys_of_bytes& keys, const void* values) {
    tree_.reset();
    tree_ = espalier::detail::build_radix_index(where_, {scalar_kind::opaque, scalar_kind::u64, sizeof(std::uint64_t)},
                                                keys.raw(), values, options_, where_.default_stream());
  }
  /// Of the request, outputs and how to run count.
  void ask(operation op, const keys_of_bytes& keys, const request& r) const {
    const espalier::detail::execution ex{where_.resolve(r.order), r.wait};
    if (op == operation::find) {
      tree_->find(keys.raw(), r.out[0], static_cast<std::uint8_t*>(r.out[1]), ex);
    } else if (op == operation::contains) {
      tree_->find(keys.raw(), nullptr, static_cast<std::uint8_t*>(r.out[0]), ex);
    } else if (op == operation::lower_bound) {
      tree_->rank(espalier::detail::radix_bound::lower, keys.raw(), static_cast<std::uint64_t*>(r.out[0]), ex);
    } else {
      tree_->count(espalier::detail::radix_slice::prefix, keys.raw(), keys.raw(), {},
                   static_cast<std::uint64_t*>(r.out[0]), ex);
    }
  }
  [[nodiscard]] radix_stats stats() const { return tree_->stats(); }
  [[nodiscard]] validation validate() const { return tree_->validate(); }

 private:
  device where_;
  radix_options options_;
  std::unique_ptr<espalier::detail::radix_index> tree_;
};

}  // namespace espalier::bench
