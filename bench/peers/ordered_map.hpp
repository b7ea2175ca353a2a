// ordered_map.hpp - a C++ map as a peer of the B-link tree: std::map or absl::btree_map.
//
// Writes and mixed batches run in one thread, since these maps are not thread-safe for writes; queries run in as many
// threads as the tree uses.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "bench/index/blink/blink_script.hpp"
#include "bench/index/request.hpp"

namespace espalier::bench {

class ordered_map {
 public:
  virtual ~ordered_map() = default;
  /// Replaces the content by these pairs, inserted in this order.
  virtual void load(const column& keys, const column& values) = 0;
  /// Inserts these pairs, each with the position after the last element, or before the first, as a hint.
  virtual void insert_at_end(const column& keys, const column& values) = 0;
  virtual void insert_at_begin(const column& keys, const column& values) = 0;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Runs one step that is not a range, element by element; results are written to the columns values and done.
  virtual void run(const blink_step& step, const answers& out) = 0;
  /// Runs find, find-after-insert, lower-bound, range (offsets are given in out[0]), count or sum.
  virtual void ask(operation op, const request& what) = 0;
};

/// `name` is "std-map" or "absl-btree".
[[nodiscard]] std::unique_ptr<ordered_map> make_ordered_map(std::string_view name, const data_spec& spec,
                                                            unsigned threads);

}  // namespace espalier::bench
