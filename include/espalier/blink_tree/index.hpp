// index.hpp - the type-erased B-link tree, which is compiled once per word, value slot, policy and device.
//
// blink_tree.hpp is the typed wrapper. Keys have the caller's type, which `element_type` states; pointers may refer to
// host or device memory; null outputs are skipped.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "espalier/blink_tree/node.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/index/elements.hpp"
#include "espalier/index/seek.hpp"
#include "espalier/index/untyped_reads.hpp"
#include "espalier/static_tree/inner_levels_view.hpp"

namespace espalier::detail {

/// Whether writes may run concurrently with a visit.
enum class visit_concurrency : std::uint8_t { writers, none };

/// The leaves of a tree in key order, as of the last rebuild of its inner levels. Entry i stands for the keys above
/// highs[i - 1] up to highs[i]: right links from leaf ids[i] reach them all, whatever was split or merged since.
struct leaf_table {
  const void* view;    ///< a blink_view<Word, ValueBytes, Slots>
  const void* highs;   ///< Words in the device's memory
  const node_id* ids;  ///< null if leaf i has number i
  std::uint64_t size;  ///< 0 for a tree on a CPU that has only inner nodes
};

struct blink_node_copy;  // src/blink_tree/node_copy.hpp

class blink_index : public untyped_reads {
 public:
  [[nodiscard]] virtual blink_shape shape() const = 0;
  /// Returns a stored number, unless a ref is in use or was in use since the last count; then the leaves are counted.
  [[nodiscard]] virtual std::size_t size(const stream& order = {}) const = 0;
  [[nodiscard]] virtual blink_stats stats(const stream& order = {}) const = 0;
  /// Copies all nodes to host memory.
  [[nodiscard]] virtual blink_node_copy copy_nodes() const = 0;
  [[nodiscard]] validation validate() const;
  /// Nodes, links and elements as JSON or as a Graphviz graph.
  [[nodiscard]] std::string dump(bool graphviz) const;
  [[nodiscard]] virtual write_explanation explain(write_op op, std::size_t n, const write_options& options) const = 0;
  [[nodiscard]] virtual write_explanation explain_apply(std::size_t n, const write_options& options) const = 0;
  /// The plan of n point queries, as the tree is now. `keys` are those of the batch, of which a CPU takes a sample, or
  /// null.
  [[nodiscard]] virtual explanation explain_reads(const void* keys, std::size_t n,
                                                  const query_options& options) const = 0;
  /// Reserves nodes for `inserts` elements, marks the tree as having live refs (has_live_refs), and copies its
  /// blink_view<Word, ValueBytes, Slots> to `to` (may be null), all in one atomic step.
  virtual void view(std::size_t inserts, void* to) = 0;

  // ---- writes ----
  // done[i] = 1 if element i changed the tree (insert, insert_or_assign: the key was new; update, erase: the key was
  // present). If memory runs out, either nothing has changed, or `done` marks what has changed and the error says so.
  virtual void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
                     const write_options& options, const execution& ex) = 0;
  /// Executes a mixed batch: ops[i] is a blink_op. `values` are inputs; `out_values` and `done` are outputs (find: the
  /// value, and whether it was found).
  virtual void apply(const std::uint8_t* ops, const void* keys, const void* values, std::size_t n, void* out_values,
                     std::uint8_t* done, const write_options& options, const execution& ex) = 0;
  /// Recycles the nodes that merges freed and rebuilds the inner levels.
  virtual void maintain(const stream& order) = 0;
  /// Returns whether the inner levels are so stale, or the leaves so empty, that maintain() is due. Reads and writes of
  /// many keys rebuild by themselves, unless a ref is in use.
  [[nodiscard]] virtual bool needs_rebuild() const = 0;
  virtual void clear(const stream& order) = 0;

  // ---- reads ---------------------------------------------------------------------------------------------
  /// The current inner levels of the express lane, and in `builds` how often it was built. Writes may make it stale;
  /// maintain() and reads of many keys rebuild it. Its size is 0 if the tree is too small for a lane.
  [[nodiscard]] virtual any_inner_levels_view upper(std::size_t& builds) const = 0;
  /// CPU only: the searches start at these lines of that lane. Returns false if the lane was rebuilt since. All
  /// pointers refer to host memory.
  [[nodiscard]] virtual bool find_from(std::size_t builds, const std::uint32_t* lines, const void* keys, std::size_t n,
                                       void* values, std::uint8_t* found) const = 0;
  /// Estimates the number of elements in a closed range, whose ends are in host memory (blink_tree::estimate_count).
  [[nodiscard]] virtual std::uint64_t estimate(const void* lo, const void* hi) const = 0;
  /// As find_from(); the lines belong to the lower ends.
  [[nodiscard]] virtual bool rows_from(std::size_t builds, const std::uint32_t* lines, const void* lo, const void* hi,
                                       std::size_t n, const range_options& options, void* out_keys, void* out_values,
                                       std::uint64_t* counts) const = 0;
  /// Calls work(table) while no node is moved or recycled. On a CPU the visit is complete when work returns; on a GPU
  /// work enqueues to `order`. It must not call the owner.
  virtual void visit(visit_concurrency others, const std::function<void(const leaf_table&)>& work,
                     const stream& order) const = 0;
  /// Returns all elements in key order, in buffers on the device.
  [[nodiscard]] virtual range_buffers all(const stream& order) const = 0;
};

/// Builds a tree from pairs in any order; of equal keys the last one wins. n = 0 makes an empty tree.
[[nodiscard]] std::unique_ptr<blink_index> build_blink_index(const device& dev, element_type elements,
                                                             const blink_shape& shape, const void* keys,
                                                             const void* values, std::size_t n,
                                                             const blink_options& options, const stream& order);

}  // namespace espalier::detail
