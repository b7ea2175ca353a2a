// index.hpp - the B-link tree without types: what is compiled once per word, value slot, policy and device.
//
// blink_tree.hpp wraps it in types. Keys are in the caller's type, `element_type` says which; pointers may be host or
// device memory; null outputs are skipped.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "espalier/blink_tree/node.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/static_tree/index.hpp"  // element_type, execution, neighbour_kind, aggregate_op, range_buffers
#include "espalier/trace/state.hpp"

namespace espalier::detail {

enum class seek_kind : std::uint8_t { lower_bound, successor, predecessor };

/// Who may write to a tree while it is visited.
enum class visit_concurrency : std::uint8_t { writers, nobody };

/// The leaves of a tree in key order, as they were when its upper levels were made. Entry i stands for the keys above
/// highs[i - 1] up to highs[i]: going right from leaf ids[i] meets them all, whatever was split or merged since.
struct leaf_table {
  const void* view;    ///< a blink_view<Word, ValueBytes, Slots>
  const void* highs;   ///< Words, in the device's memory
  const node_id* ids;  ///< null: numbered in order
  std::uint64_t size;  ///< 0: a tree on a CPU that has inner nodes only
};

class blink_index {
 public:
  virtual ~blink_index() = default;

  [[nodiscard]] virtual const device& get_device() const = 0;
  [[nodiscard]] virtual element_type elements() const = 0;
  [[nodiscard]] virtual blink_shape shape() const = 0;
  /// Known, unless a ref is in use or has just been; then leaves are counted, in any order.
  [[nodiscard]] virtual std::size_t size(const stream& order = {}) const = 0;
  [[nodiscard]] virtual blink_stats stats(const stream& order = {}) const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  /// Nodes, links and elements: as JSON or for Graphviz.
  [[nodiscard]] virtual std::string dump(bool graphviz) const = 0;
  /// The same as data, for traces; keys are words.
  [[nodiscard]] virtual trace_state state() const = 0;
  [[nodiscard]] virtual write_explanation explain(write_op op, std::size_t n, const write_options& options) const = 0;
  [[nodiscard]] virtual write_explanation explain_apply(std::size_t n, const write_options& options) const = 0;
  /// Makes room for `inserts` elements, lends the tree, and copies its blink_view<Word, ValueBytes, Slots> to `to`
  /// (may be null), all at one moment.
  virtual void view(std::size_t inserts, void* to) = 0;

  // ---- writes: done[i] = 1 if element i changed the tree (insert: was new; update, erase: was there;
  // insert_or_assign: was new). Strong guarantee for memory: if it runs out, nothing has changed, or what was
  // changed is in `done` and the error says so.
  virtual void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
                     const write_options& options, const execution& ex) = 0;
  /// Mixed batch: ops[i] is a blink_op. values are inputs, out_values and done are answers (find: the value, found).
  virtual void apply(const std::uint8_t* ops, const void* keys, const void* values, std::size_t n, void* out_values,
                     std::uint8_t* done, const write_options& options, const execution& ex) = 0;
  /// Gives back what merges freed and makes the upper levels anew.
  virtual void maintain(const stream& order) = 0;
  /// Are the upper levels so far behind, or leaves so empty, that it is time for maintain()? Reads and writes of many
  /// keys see to it themselves, unless a ref is in use.
  [[nodiscard]] virtual bool needs_rebuild() const = 0;
  virtual void clear(const stream& order) = 0;

  // ---- reads ---------------------------------------------------------------------------------------------
  virtual void find(const void* keys, std::size_t n, void* values, std::uint8_t* found, const execution& ex) const = 0;
  /// Of the express lane, as it is now, and how often it was made: writes may leave it behind, maintain() and reads of
  /// many keys make it anew. Its size is 0 if the tree is too small for one.
  [[nodiscard]] virtual any_inner_levels_view upper(std::size_t& builds) const = 0;
  /// CPU only: the searches start at these lines of that lane; false: there is another one since. All memory is the
  /// host's.
  [[nodiscard]] virtual bool find_from(std::size_t builds, const std::uint32_t* lines, const void* keys, std::size_t n,
                                       void* values, std::uint8_t* found) const = 0;
  virtual void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values,
                    std::uint8_t* found, const execution& ex) const = 0;
  virtual void count(const void* lo, const void* hi, std::size_t n, const range_options& options, std::uint64_t* counts,
                     const execution& ex) const = 0;
  /// Of the closed range, ends in host memory (blink_tree::estimate_count).
  [[nodiscard]] virtual std::uint64_t estimate(const void* lo, const void* hi) const = 0;
  /// Waits for the total in any case; on a CPU for everything.
  [[nodiscard]] virtual range_buffers range(const void* lo, const void* hi, std::size_t n, const range_options& options,
                                            const execution& ex) const = 0;
  /// Row i of the outputs has options.limit elements, of which counts[i] are written.
  virtual void rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
                    void* out_values, std::uint64_t* counts, const execution& ex) const = 0;
  /// As find_from(): the lines are those of lower ends.
  [[nodiscard]] virtual bool rows_from(std::size_t builds, const std::uint32_t* lines, const void* lo, const void* hi,
                                       std::size_t n, const range_options& options, void* out_keys, void* out_values,
                                       std::uint64_t* counts) const = 0;
  virtual void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                         std::uint8_t* found, const execution& ex) const = 0;
  /// work(table) while no node is moved or given out again. On a CPU work is done when it returns; on a GPU it enqueues
  /// to `order`. It must not call the owner.
  virtual void visit(visit_concurrency others, const std::function<void(const leaf_table&)>& work,
                     const stream& order) const = 0;
  /// All elements in key order, in buffers on the device.
  [[nodiscard]] virtual range_buffers all(const stream& order) const = 0;
};

/// Builds a tree from pairs in any order; equal keys: the last one wins. n = 0 makes an empty tree.
[[nodiscard]] std::unique_ptr<blink_index> build_blink_index(const device& dev, element_type elements,
                                                             const blink_shape& shape, const void* keys,
                                                             const void* values, std::size_t n,
                                                             const blink_options& options, const stream& order);

}  // namespace espalier::detail
