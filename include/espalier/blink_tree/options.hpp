// options.hpp - options of the B-link tree and the statistics that it reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "espalier/core/scalar.hpp"
#include "espalier/index/options.hpp"

namespace espalier {

/// Concurrency control between the operations of many teams.
enum class protocol : std::uint8_t {
  blink,  ///< B-link tree: readers take no latch and move right past splits; a writer latches one node at a time
  latch_coupling,  ///< B+tree: latches from parent to child, full nodes are split on the way down, readers restart
  single_writer,   ///< one writer, no concurrent operation: no latches
};

/// What a write through a ref did.
enum class write_result : std::uint8_t {
  inserted,      ///< the key is new
  assigned,      ///< the key existed and has the new value
  exists,        ///< insert: the key existed and kept its value
  erased,        ///< the key existed and is removed
  not_found,     ///< update, erase: the key does not exist
  out_of_nodes,  ///< more inserts than ref(inserts) reserved nodes for; the tree is unchanged
};

/// The index above the leaves.
enum class inner_index : std::uint8_t {
  express_lane,  ///< a static index over the leaves, which may be stale; inner nodes only where it is too stale
  inner_nodes,   ///< inner nodes only
};

/// Compile-time configuration of a tree. `slots` is the number of elements of a node: 8, 32, 128 or 4096, or 0 for the
/// width that suits point operations.
template <protocol Protocol = protocol::blink, inner_index Upper = inner_index::express_lane, unsigned Slots = 0>
struct blink_policy {
  static constexpr espalier::protocol protocol = Protocol;
  static constexpr espalier::inner_index inner = Upper;
  static constexpr unsigned slots = Slots;  ///< 0 for the width that suits point operations
};

/// The same at run time; it selects one of the compiled trees.
struct blink_shape {
  espalier::protocol protocol = espalier::protocol::blink;
  espalier::inner_index inner = inner_index::express_lane;
  unsigned slots = 0;
};

struct blink_options {
  double fill = 0.75;  ///< share of the slots of a leaf that a build uses, 0.25 to 1
};

/// An operation of a mixed batch.
enum class blink_op : std::uint8_t { find, insert, insert_or_assign, update, erase };

/// Order of equal keys of one batch.
enum class batch_semantics : std::uint8_t {
  concurrent,  ///< each element is one operation, linearizable per key; equal keys in any order
  ordered,     ///< per key as if the elements ran one after the other in batch order: the last write wins
};

/// How a batch of writes is executed. Both paths give the same tree, except for which of equal keys wins.
enum class write_path : std::uint8_t {
  automatic,
  per_key,  ///< each key descends separately
  bulk,     ///< sort the batch, partition it by leaf, merge leaf by leaf without latches; updates are written in place
};

struct write_options {
  batch_semantics semantics = batch_semantics::concurrent;
  write_path path = write_path::automatic;
};

/// The path for a batch of writes, with the alternative that was considered.
struct write_explanation {
  write_path chosen = write_path::automatic;
  double per_key_seconds = 0;  ///< predicted
  double bulk_seconds = 0;
  std::string text;  ///< a few lines of readable text
};

struct blink_stats {
  std::size_t size = 0;         ///< elements
  unsigned height = 0;          ///< levels of nodes; 1 if there are only leaves
  std::size_t leaves = 0;       ///< live leaves
  std::size_t inner_nodes = 0;  ///< live inner nodes
  std::size_t dead_nodes = 0;   ///< merged away, waiting for reuse
  std::size_t free_nodes = 0;   ///< ready for reuse
  std::size_t node_bytes = 0;   ///< bytes of one leaf
  std::size_t bytes = 0;        ///< all memory that the tree holds on its device
  double fill = 0;              ///< used slots / slots of live leaves
  std::size_t lane_leaves = 0;  ///< leaves that the express lane names
  std::size_t lane_bytes = 0;
  std::size_t lane_builds = 0;  ///< number of rebuilds
};

[[nodiscard]] std::string to_string(protocol p);
[[nodiscard]] std::string to_string(inner_index u);
[[nodiscard]] std::string to_string(write_path p);

}  // namespace espalier
