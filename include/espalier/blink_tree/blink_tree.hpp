// blink_tree.hpp - an ordered map for concurrent readers and writers, on CPU or GPU.
//
//   espalier::blink_tree<std::uint32_t, float> tree;                       // empty, on the default device
//   tree.insert(keys, values);                                             // in bulk
//   tree.find(queries, out, found);
//   auto ref = tree.ref(/* inserts */ 1000);                               // in a kernel or thread, key by key
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/blink_tree/index.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/blink_tree/ref.hpp"
#include "espalier/index/bulk_reads.hpp"
#include "espalier/index/bulk_writes.hpp"
#include "espalier/index/result.hpp"
#include "espalier/index/single_key.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier {

/// Ordered map in the memory of one device. `Value` = void makes a set, whose aggregates are over the keys. A key
/// occurs at most once. No key and no value is reserved. Move-only.
///
/// These rules hold for every method unless it says otherwise:
/// - Memory: spans are in host or device memory. Output spans have one element per query; a mismatch throws `error`
///   before anything is written. Optional outputs are empty spans.
/// - Streams: the last argument is a stream, or a CUDA stream of the caller (cudaStream_t, cuda::stream_ref); an empty
///   stream is the default stream of the device. A method returns when its results are complete. Its `_async` form
///   returns when the work is enqueued; results are complete, and errors are thrown, at stream::synchronize(). On a GPU
///   a write blocks the host if the tree must grow.
/// - Lifetime: the tree and all memory given to an `_async` call must live until the stream is synchronised.
/// - Thread safety: all methods except construction, move and destruction may run concurrently, with one stream per
///   thread (device::make_stream). Bulk writes, maintain() and clear() are exclusive: they wait for other calls, and
///   later calls wait for them. On a GPU all writes are exclusive. ref() states the rules for refs.
/// - Isolation: concurrently with writes, each key of find() is read atomically. lower_bound(), successor(),
///   predecessor() and ranges read each leaf atomically, but different leaves at different times (ref.hpp).
/// - Complexity: per query or element; n is size(). A search is O(log n), a range is linear in its leaves.
template <KeyType Key, class Value = void, class Policy = blink_policy<>>
class blink_tree : public single_key_map_writes<blink_tree<Key, Value, Policy>, Key, Value>,
                   public bulk_reads<blink_tree<Key, Value, Policy>, Key, Value>,
                   public bulk_map_writes<blink_tree<Key, Value, Policy>, std::span<const Key>, Value, write_options> {
  using single_key = single_key_map_writes<blink_tree, Key, Value>;
  using bulk = bulk_reads<blink_tree, Key, Value>;
  using writes = bulk_map_writes<blink_tree, std::span<const Key>, Value, write_options>;
  friend bulk_writes<blink_tree, std::span<const Key>, Value, write_options>;
  using bulk::elements, bulk::enqueue, bulk::is_set, bulk::wait;
  using typename bulk::keys_in, typename bulk::mask_out, typename bulk::slot;
  static constexpr bool has_default_policy =
      Policy::protocol == protocol::blink && Policy::inner == inner_index::express_lane && Policy::slots == 0;
  static_assert(has_default_policy || (!is_set && detail::value_slot(sizeof(slot)) == sizeof(word_of<Key>)),
                "policies other than the default are compiled for keys and values of 4, or of 8 bytes");
  static_assert(Policy::slots == 0
                    ? Policy::protocol != protocol::latch_coupling || Policy::inner == inner_index::inner_nodes
                    : Policy::protocol == protocol::blink && Policy::inner == inner_index::express_lane &&
                          (Policy::slots == 8 || Policy::slots == 32 || Policy::slots == 128 || Policy::slots == 4096),
                "protocol::latch_coupling takes inner_index::inner_nodes; nodes of 8, 32, 128 and 4096 slots take "
                "protocol::blink and "
                "inner_index::express_lane");

  template <class T>
  using in = std::span<const T>;
  template <class T>
  using out = std::span<T>;

 public:
  using ref_type = blink_tree_ref<Key, Value, Policy>;

  /// Makes an empty tree. Throws `error` if options.fill is not in [0.25, 1].
  explicit blink_tree(const device& dev = device::default_device(), const blink_options& options = {},
                      const stream& s = {})
      : blink_tree({}, {}, options, dev, dev.resolve(s)) {}

  /// Builds a tree from pairs in any order; of equal keys the last one wins. Requires as many values as keys. O(n)
  /// after a radix sort, which sorted input does not need.
  [[nodiscard]] static blink_tree build(keys_in keys, in<slot> values, const blink_options& options = {},
                                        const device& dev = device::default_device(),
                                        const stream& s = {}) requires(!is_set) {
    detail::require_equal("build values", keys.size(), values.size());
    return blink_tree(keys, values, options, dev, dev.resolve(s));
  }
  [[nodiscard]] static blink_tree build(keys_in keys, const blink_options& options = {},
                                        const device& dev = device::default_device(),
                                        const stream& s = {}) requires(is_set) {
    return blink_tree(keys, {}, options, dev, dev.resolve(s));
  }

  // ---- writes --------------------------------------------------------------------------------------------
  // insert, insert_or_assign, update and erase are in index/bulk_writes.hpp. batch_semantics defines the order of equal
  // keys in one batch. If memory runs out, a bulk write has changed nothing; a write key by key keeps what it has
  // written, and `done` marks these elements. The space of erased keys is recycled later, by a write of the owner or by
  // maintain().
  using single_key::erase;
  using single_key::insert;
  using single_key::insert_or_assign;
  using single_key::update;
  using writes::erase;
  using writes::insert;
  using writes::insert_or_assign;
  using writes::update;

  /// Executes one batch of mixed operations. `values` are the values to write, `out_values` receives the answers of
  /// finds (zero bytes if not found; positions of writes are not changed). Both may be empty if no operation needs
  /// them. Throws `error`, with nothing changed, for an invalid operation code or missing values. options.path:
  /// `per_key` executes element by element; `bulk` sorts the batch and composes the operations on equal keys;
  /// `automatic` takes `bulk` for ordered batches, and on a GPU for 4,096 and more elements.
  void apply(in<blink_op> ops, keys_in keys, in<slot> values, out<slot> out_values, mask_out done,
             const write_options& options = {}, const stream& s = {}) {
    apply_on(ops, keys, values, out_values, done, options, wait(s));
  }
  void apply_async(in<blink_op> ops, keys_in keys, in<slot> values, out<slot> out_values, mask_out done,
                   const write_options& options, const stream& s) {
    apply_on(ops, keys, values, out_values, done, options, enqueue(s));
  }

  /// Rebuilds the inner levels and recycles the space of erased elements. Writes of the owner do this themselves if it
  /// pays off, but not while a ref is in use. Lifetime: invalidates all refs. Exclusive. O(leaves).
  void maintain(const stream& s = {}) { index_->maintain(get_device().resolve(s)); }
  /// Removes all elements. Lifetime: invalidates all refs. Exclusive.
  void clear(const stream& s = {}) { index_->clear(get_device().resolve(s)); }

  // ---- queries -------------------------------------------------------------------------------------------
  // find, contains, lower_bound, upper_bound, successor, predecessor, count, range, range_rows, sum, min, max and avg
  // are in index/bulk_reads.hpp. Ranges and aggregates are linear in the leaves of the range; count() on a GPU with an
  // express lane is O(log n), where the first call after a write counts the elements of all leaves. snapshot() returns
  // a tree whose aggregates are O(log n). query_options::plan selects `partition_first` where the tree has an express
  // lane: for find() and contains(), on a CPU also for neighbours; other plans are the same. On a CPU counts and
  // aggregates are partitioned by the lower ends of large batches.
  using bulk::contains;
  using bulk::find;
  using single_key::contains;
  using single_key::find;

  /// Estimates the number of elements in [lo, hi] from a sample of leaves, in the default stream. Exact for up to 64
  /// leaves, on a GPU, and without a lane (inner_index::inner_nodes, small trees). Otherwise some percent off, more if
  /// many leaves are empty. Keys written since the lane was built, at most those of an eighth of all leaves unless a
  /// ref is in use, may be missed. Reads about a hundred leaves, whatever the length.
  [[nodiscard]] std::uint64_t estimate_count(const Key& lo, const Key& hi) const { return index_->estimate(&lo, &hi); }
  /// Copies the elements into a static tree on the same device. Precondition: no ref writes during the call. Exclusive
  /// during the copy; writers continue while the snapshot is used. O(n).
  [[nodiscard]] static_tree<Key, Value> snapshot(const build_options& options = {}, const stream& s = {}) const {
    const stream order = get_device().resolve(s);
    detail::range_buffers raw = index_->all(order);
    const buffer<Key> keys(std::move(raw.keys), raw.total);
    build_options sorted = options;
    sorted.sorted = true;
    if constexpr (is_set) {
      return static_tree<Key, Value>::build(keys.span(), sorted, get_device(), order);
    } else {
      const buffer<Value> values(std::move(raw.values), raw.total);
      return static_tree<Key, Value>::build(keys.span(), values.span(), sorted, get_device(), order);
    }
  }

  // ---- visiting all elements: for_each, transform and reduce are free functions in visit.hpp -----------------

  // ---- properties ------------------------------------------------------------------------------------------

  /// Number of elements; exact while no write is in progress. O(1), or O(leaves) while a ref is in use and once after
  /// it.
  [[nodiscard]] std::size_t size() const { return index_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// The device of the tree.
  [[nodiscard]] const device& get_device() const { return index_->get_device(); }
  /// Numbers of nodes, bytes and fill of the tree. May run concurrently with writers.
  [[nodiscard]] blink_stats stats() const { return index_->stats(); }
  /// Checks order, links, high keys, fill, reachability, and that no node is lost. Precondition: no ref writes. O(n).
  [[nodiscard]] validation validate() const { return index_->validate(); }
  /// All nodes as JSON, and as a Graphviz graph. Precondition: no ref writes. O(n).
  [[nodiscard]] std::string dump_json() const { return index_->dump(false); }
  [[nodiscard]] std::string dump_graphviz() const { return index_->dump(true); }
  /// The plan for a batch of this many point queries, with the predicted time of each candidate on a CPU. On a CPU,
  /// queries that ascend, or that ask for few leaves, are answered as they come nevertheless: give the keys to see it.
  [[nodiscard]] explanation explain(std::size_t queries, const query_options& options = {}) const {
    return index_->explain_reads(nullptr, queries, options);
  }
  /// The same for a batch, of which a CPU takes a sample. Requires keys in host memory for a tree on a CPU.
  [[nodiscard]] explanation explain(keys_in keys, const query_options& options = {}) const {
    return index_->explain_reads(keys.data(), keys.size(), options);
  }
  /// The path for a batch of n writes, with the predicted time of each path.
  [[nodiscard]] write_explanation explain(write_op op, std::size_t n, const write_options& options = {}) const {
    return index_->explain(op, n, options);
  }
  /// The path for apply() of n operations; times are not predicted.
  [[nodiscard]] write_explanation explain_apply(std::size_t n, const write_options& options = {}) const {
    return index_->explain_apply(n, options);
  }
  /// Returns a trivially copyable, non-owning ref for kernels and CPU threads, and reserves nodes for `inserts` more
  /// elements. An insert beyond them may return write_result::out_of_nodes.
  ///
  /// Lifetime: invalidated by maintain(), clear(), a write with write_path::bulk, or destruction; using it afterwards
  /// is undefined. Until maintain() the owner neither recycles nor rebuilds, and writes key by key; call maintain()
  /// when the refs are done.
  ///
  /// Concurrency: refs may read and write concurrently with each other. On a CPU the owner may be queried and written
  /// key by key at the same time. snapshot(), stats(), size(), validate(), dump_json(), dump_graphviz(), state(),
  /// maintain(), clear() and bulk writes do not wait for refs: finish these first. On a GPU this holds for all calls of
  /// the owner, unless they come later in the same stream.
  ///
  /// Complexity: refs do not extend the express lane, so leaves that they add are found by right links and inner nodes.
  /// Filling a large empty tree is faster by insert() than through refs.
  [[nodiscard]] ref_type ref(std::size_t inserts = 0) {
    typename ref_type::view_type view;
    index_->view(inserts, &view);
    return ref_type(&view);
  }
  /// The untyped index, for the library's own layers.
  [[nodiscard]] detail::blink_index& untyped() const { return *index_; }

 private:
  blink_tree(keys_in keys, in<slot> values, const blink_options& options, const device& dev, const stream& order)
      : index_(detail::build_blink_index(dev, elements, {Policy::protocol, Policy::inner, Policy::slots}, keys.data(),
                                         values.data(), keys.size(), options, order)) {}

  void write_on(write_op op, keys_in keys, const void* values, std::uint8_t* done, const write_options& options,
                const detail::execution& ex) {
    index_->write(op, keys.data(), values, keys.size(), done, options, ex);
  }
  void apply_on(in<blink_op> ops, keys_in keys, in<slot> values, out<slot> out_values, mask_out done,
                const write_options& options, const detail::execution& ex) {
    detail::require_equal("apply ops", keys.size(), ops.size());
    detail::require_optional("apply values", keys.size(), values.size());
    detail::require_optional("apply answers", keys.size(), out_values.size());
    detail::require_optional("apply mask", keys.size(), done.size());
    index_->apply(reinterpret_cast<const std::uint8_t*>(ops.data()), keys.data(), values.data(), keys.size(),
                  detail::optional_data(out_values), detail::optional_data(done), options, ex);
  }
  std::unique_ptr<detail::blink_index> index_;
};

}  // namespace espalier
