// radix_under_test.hpp - the radix tree under measurement through its untyped interface, which supports every query
// without waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "bench/index/request.hpp"
#include "espalier/radix_tree/radix_tree.hpp"

namespace espalier::bench {

class radix_under_test {
 public:
  radix_under_test(device dev, long_key_mode long_keys) : device_(std::move(dev)) { options_.long_keys = long_keys; }

  [[nodiscard]] bool built() const { return tree_ != nullptr; }
  /// Replaces the tree after freeing the old one.
  void build(const byte_string_batch& keys, const void* values) {
    tree_.reset();
    tree_ = espalier::detail::build_radix_index(device_, {scalar_kind::opaque, scalar_kind::u64, sizeof(std::uint64_t)},
                                                keys.raw(), values, options_, device_.default_stream());
  }
  /// Only the outputs and the execution options of the request are used.
  void ask(operation op, const byte_string_batch& keys, const request& r) const {
    const espalier::detail::execution ex{device_.resolve(r.order), r.wait};
    if (op == operation::find) {
      tree_->find(keys.raw(), r.out[0], static_cast<std::uint8_t*>(r.out[1]), ex);
    } else if (op == operation::contains) {
      tree_->find(keys.raw(), nullptr, static_cast<std::uint8_t*>(r.out[0]), ex);
    } else if (op == operation::lower_bound) {
      tree_->rank(espalier::bound_type::lower, keys.raw(), static_cast<std::uint64_t*>(r.out[0]), ex);
    } else {
      tree_->count(espalier::detail::radix_slice::prefix, keys.raw(), keys.raw(), {},
                   static_cast<std::uint64_t*>(r.out[0]), ex);
    }
  }
  [[nodiscard]] espalier::detail::byte_range_buffers list(operation op, const byte_string_batch& lo,
                                                          const byte_string_batch& hi) const {
    using espalier::detail::radix_slice;
    const radix_slice what = op == operation::range    ? radix_slice::range
                             : op == operation::prefix ? radix_slice::prefix
                                                       : radix_slice::successor;
    return tree_->list(what, lo.raw(), hi.raw(), {}, {device_.default_stream(), true});
  }
  void write(write_op what, const byte_string_batch& keys, const void* values, void* done, radix_path path,
             bool wait = true) {
    tree_->write(what, keys.raw(), values, static_cast<std::uint8_t*>(done), path, {device_.default_stream(), wait});
  }
  [[nodiscard]] radix_stats stats() const { return tree_->stats(); }
  [[nodiscard]] validation validate() const { return tree_->validate(); }

 private:
  device device_;
  radix_options options_;
  std::unique_ptr<espalier::detail::radix_index> tree_;
};

}  // namespace espalier::bench
