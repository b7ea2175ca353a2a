// visit.cuh - visits of a B-link tree in GPU memory. Included by visit.hpp under nvcc; include that header instead.
//
// One thread takes one entry of the table of leaves, together with what was split off from that leaf since. The owner
// excludes writers by stream ordering, so reads may use every cache. The lower bound of the time is bytes of the leaves
// / memory bandwidth.
#pragma once

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/static_tree/visit.cuh"
#include "espalier/team/tile.cuh"

namespace espalier {

namespace detail {

/// The table of leaves for kernels.
template <class Key, class Value, class View>
struct leaf_visitor {
  using word = word_of<Key>;
  using reader = blink_reader<tile<1>, stable_reads, View>;
  static constexpr word largest = static_cast<word>(~word{0});

  View tree;
  const word* highs;
  const node_id* ids;
  std::uint64_t size;

  explicit leaf_visitor(const leaf_table& leaves)
      : tree(*static_cast<const View*>(leaves.view)),
        highs(static_cast<const word*>(leaves.highs)),
        ids(leaves.ids),
        size(leaves.size) {}

  __device__ __forceinline__ node_id leaf(std::uint64_t i) const {
    return ids == nullptr ? static_cast<node_id>(i) : ids[i];
  }
  __device__ __forceinline__ word low(std::uint64_t i) const {
    return i == 0 ? word{0} : static_cast<word>(highs[i - 1] + 1);
  }
  __device__ __forceinline__ std::uint64_t count(std::uint64_t i) const {
    leaf_position start{};
    return reader::count_from(tile<1>{}, tree, leaf(i), low(i), highs[i], ~std::uint64_t{0}, start);
  }
  /// Calls visit(result of f) for the elements of entry i in key order.
  template <class F, class Visit>
  __device__ __forceinline__ void elements(std::uint64_t i, F& f, Visit visit) const {
    const tile<1> team;
    reader::scan_from(team, tree, leaf(i), low(i), highs[i],
                      [&](const auto& keys, const auto& values, unsigned from, unsigned to) {
                        team.for_slots(keys, from, to, [&](unsigned j, word key) {
                          if constexpr (std::is_void_v<Value>) {
                            visit(f(key_codec<Key>::decode(key)));
                          } else {
                            const auto raw = team.own(values, j);
                            Value value;
                            memcpy(static_cast<void*>(&value), &raw, sizeof(value));
                            visit(f(key_codec<Key>::decode(key), value));
                          }
                        });
                        return true;
                      });
  }
};
template <class Key, class Value, class Policy>
using leaf_visitor_of =
    leaf_visitor<Key, Value,
                 std::remove_cvref_t<decltype(std::declval<const blink_tree_ref<Key, Value, Policy>&>().layout())>>;

template <class Leaves, class F>
__global__ void __launch_bounds__(visit_threads)
    for_each_leaf(const __grid_constant__ Leaves leaves, call_for_effect<F> f) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < leaves.size) leaves.elements(i, f, [](unit_result) {});
}
/// Key order on a GPU runs in one thread: correct but slow.
template <class Leaves, class F>
__global__ void for_each_leaf_in_order(const __grid_constant__ Leaves leaves, call_for_effect<F> f) {
  for (std::uint64_t i = 0; i < leaves.size; ++i) leaves.elements(i, f, [](unit_result) {});
}

template <class Leaves>
__global__ void __launch_bounds__(visit_threads)
    count_leaves(const __grid_constant__ Leaves leaves, std::uint64_t* counts) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < leaves.size) counts[i] = leaves.count(i);
  if (i == leaves.size) counts[i] = 0;
}
template <class Leaves, class T, class F>
__global__ void __launch_bounds__(visit_threads)
    transform_leaves(const __grid_constant__ Leaves leaves, const std::uint64_t* offsets, T* out, std::uint64_t room,
                     F f) {
  const std::uint64_t i = std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= leaves.size || offsets[i] >= room) return;
  std::uint64_t at = offsets[i];
  const std::uint64_t end = offsets[i + 1] < room ? offsets[i + 1] : room;
  leaves.elements(i, f, [&](const auto& x) {
    if (at < end) out[at++] = x;
  });
}

/// Block b folds a contiguous run of entries, as reduce_lines in static_tree/visit.cuh does.
template <bool ByKey, class Leaves, class T, class Map, class Combine>
__global__ void __launch_bounds__(visit_threads)
    reduce_leaves(const __grid_constant__ Leaves leaves, std::uint64_t per_block, Map map, Combine combine,
                  maybe<T>* partial) {
  const std::uint64_t begin = blockIdx.x * per_block;
  const std::uint64_t stop = begin + per_block < leaves.size ? begin + per_block : leaves.size;
  maybe<T> mine{T{}, false}, total{T{}, false};
  for (std::uint64_t base = begin; base < stop; base += visit_threads) {
    const std::uint64_t i = base + threadIdx.x;
    if (i < stop) {
      leaves.elements(i, map, [&](const T& x) {
        mine = mine.there ? maybe<T>{combine(mine.x, x), true} : maybe<T>{x, true};
      });
    }
    if constexpr (ByKey) {
      const maybe<T> stride = fold_block(mine, combine);
      if (stride.there) total = total.there ? maybe<T>{combine(total.x, stride.x), true} : stride;
      mine.there = false;
    }
  }
  if constexpr (!ByKey) total = fold_block(mine, combine);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

[[nodiscard]] inline unsigned visit_blocks(std::uint64_t n) {
  return static_cast<unsigned>((n + visit_threads - 1) / visit_threads);
}

template <class Key, class Value, class Policy, class F>
void enqueue_for_each_leaf(const blink_tree<Key, Value, Policy>& tree, const F& f, visit_order in,
                           const stream& order) {
  const device_guard guard(tree.get_device().ordinal());
  tree.untyped().visit(
      visit_concurrency::writers,
      [&](const leaf_table& table) {
        const leaf_visitor_of<Key, Value, Policy> leaves(table);
        const cudaStream_t native = cuda_backend::native(order);
        if (in == visit_order::by_key) {
          for_each_leaf_in_order<<<1, 1, 0, native>>>(leaves, call_for_effect<F>{f});
        } else {
          for_each_leaf<<<visit_blocks(leaves.size), visit_threads, 0, native>>>(leaves, call_for_effect<F>{f});
        }
        check_cuda(cudaGetLastError(), "for_each");
      },
      order);
}

template <class Key, class Value, class Policy, class T, class F>
std::size_t enqueue_transform_leaves(const blink_tree<Key, Value, Policy>& tree, std::span<T> out, const F& f,
                                     const stream& order) {
  const device_guard guard(tree.get_device().ordinal());
  std::uint64_t size = 0;
  tree.untyped().visit(
      visit_concurrency::writers,
      [&](const leaf_table& table) {
        const leaf_visitor_of<Key, Value, Policy> leaves(table);
        const cudaStream_t native = cuda_backend::native(order);
        const buffer<std::uint64_t> offsets(tree.get_device(), leaves.size + 1, order);
        count_leaves<<<visit_blocks(leaves.size + 1), visit_threads, 0, native>>>(leaves, offsets.data());
        cuda_backend(tree.get_device()).exclusive_scan(order, offsets.data(), offsets.data(), leaves.size + 1);
        tree.get_device().copy(&size, offsets.data() + leaves.size, sizeof(size), order);
        order.synchronize();
        const std::uint64_t n = std::min<std::uint64_t>(size, out.size());
        if (n == 0) return;
        const bool local = tree.get_device().is_local(out.data());
        const buffer<T> hold(tree.get_device(), local ? 0 : n, order);
        T* target = local ? out.data() : hold.data();
        transform_leaves<<<visit_blocks(leaves.size), visit_threads, 0, native>>>(leaves, offsets.data(), target, n, f);
        check_cuda(cudaGetLastError(), "transform");
        if (!local) tree.get_device().copy(out.data(), target, n * sizeof(T), order);
      },
      order);
  return size;
}

template <class Key, class Value, class Policy, class T, class Map, class Combine>
void enqueue_reduce_leaves(const blink_tree<Key, Value, Policy>& tree, T* out, T init, const Map& map, Combine combine,
                           visit_order in, const stream& order) {
  static_assert(std::is_trivially_copyable_v<T>, "a reduction on a GPU needs a trivially copyable result");
  const device_guard guard(tree.get_device().ordinal());
  tree.untyped().visit(
      visit_concurrency::writers,
      [&](const leaf_table& table) {
        const leaf_visitor_of<Key, Value, Policy> leaves(table);
        const cudaStream_t native = cuda_backend::native(order);
        // Enough blocks to fill the GPU several times over, so that the tail of the last blocks is short.
        const std::uint64_t most = 32u * static_cast<unsigned>(cuda_backend(tree.get_device()).sm_count());
        const std::uint64_t blocks = std::min<std::uint64_t>(visit_blocks(leaves.size), most);
        const std::uint64_t per_block = (leaves.size + blocks - 1) / blocks;
        const auto grid = static_cast<unsigned>((leaves.size + per_block - 1) / per_block);
        const buffer<maybe<T>> partial(tree.get_device(), grid, order);
        const bool local = tree.get_device().is_local(out);
        const buffer<T> hold(tree.get_device(), local ? 0 : 1, order);
        T* target = local ? out : hold.data();
        if (in == visit_order::by_key) {
          reduce_leaves<true><<<grid, visit_threads, 0, native>>>(leaves, per_block, map, combine, partial.data());
        } else {
          reduce_leaves<false><<<grid, visit_threads, 0, native>>>(leaves, per_block, map, combine, partial.data());
        }
        fold_partials<<<1, visit_threads, 0, native>>>(partial.data(), grid, init, combine, target);
        check_cuda(cudaGetLastError(), "reduce");
        if (!local) tree.get_device().copy(out, target, sizeof(T), order);
      },
      order);
}

}  // namespace detail
}  // namespace espalier
