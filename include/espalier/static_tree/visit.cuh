// visit.cuh - visits of a static tree in GPU memory. Included by visit.hpp under nvcc; include that header instead.
//
// One thread takes one line (8 or 4 elements) with 16-byte loads: neighbouring threads read neighbouring lines, and
// every byte that is transferred is used. The lower bound of the time is bytes of the lines / memory bandwidth.
#pragma once

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/device/cuda.cuh"
#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/tile.cuh"

namespace espalier {

namespace detail {

inline constexpr unsigned visit_threads = 256;

/// Calls visit(rank, result of f) for the elements of a line with first <= rank < last.
template <class Ref, class F, class Visit>
__device__ __forceinline__ void visit_line(const Ref& ref, std::uint64_t line, std::uint64_t first, std::uint64_t last,
                                           F& f, Visit visit) {
  using key = typename Ref::key_type;
  using value = typename Ref::value_type;
  const auto& t = ref.layout();
  using shape = typename std::remove_cvref_t<decltype(t)>::shape;
  constexpr unsigned slots = shape::keys_per_line;
  const tile<1> team;
  const std::uint64_t begin = line * slots;
  const bool whole = begin >= first && begin + slots <= last;
  const auto keys = team.template view<slots>(t.line_keys(line));
  if constexpr (std::is_void_v<value>) {
#pragma unroll
    for (unsigned j = 0; j < slots; ++j) {
      if (whole || (begin + j >= first && begin + j < last))
        visit(begin + j, f(key_codec<key>::decode(team.get(keys, j))));
    }
  } else {
    const auto values = team.template view<slots>(t.line_values(line));
#pragma unroll
    for (unsigned j = 0; j < slots; ++j) {
      const auto raw = team.get(values, j);
      value v;
      memcpy(static_cast<void*>(&v), &raw, sizeof(value));
      if (whole || (begin + j >= first && begin + j < last))
        visit(begin + j, f(key_codec<key>::decode(team.get(keys, j)), v));
    }
  }
}

/// The result of f, or unit_result if f returns void.
struct unit_result {};
template <class F>
struct call_for_effect {
  F f;
  template <class... Args>
  __device__ unit_result operator()(const Args&... args) {
    f(args...);
    return {};
  }
};

template <class Ref, class F>
__global__ void for_each_line(const __grid_constant__ Ref ref, std::uint64_t first, std::uint64_t last,
                              call_for_effect<F> f) {
  constexpr unsigned slots = std::remove_cvref_t<decltype(ref.layout())>::shape::keys_per_line;
  const std::uint64_t line = first / slots + std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (line * slots < last) visit_line(ref, line, first, last, f, [](std::uint64_t, unit_result) {});
}

/// Key order on a GPU runs in one thread: correct but slow.
template <class Ref, class F>
__global__ void for_each_in_order(const __grid_constant__ Ref ref, std::uint64_t first, std::uint64_t last,
                                  call_for_effect<F> f) {
  constexpr unsigned slots = std::remove_cvref_t<decltype(ref.layout())>::shape::keys_per_line;
  for (std::uint64_t line = first / slots; line * slots < last; ++line) {
    visit_line(ref, line, first, last, f, [](std::uint64_t, unit_result) {});
  }
}

template <class Ref, class T, class F>
__global__ void transform_lines(const __grid_constant__ Ref ref, std::uint64_t first, std::uint64_t last, T* out, F f) {
  constexpr unsigned slots = std::remove_cvref_t<decltype(ref.layout())>::shape::keys_per_line;
  const std::uint64_t line = first / slots + std::uint64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (line * slots < last)
    visit_line(ref, line, first, last, f, [&](std::uint64_t r, const auto& x) { out[r - first] = x; });
}

/// An optional value: reduce does not require an identity.
template <class T>
struct maybe {
  T x;
  bool there;
};

/// Combines the partial results of a block in thread order; the result is in thread 0.
template <class T, class Combine>
__device__ maybe<T> fold_block(maybe<T> mine, Combine& combine) {
  __shared__ alignas(16) unsigned char memory[sizeof(maybe<T>) * visit_threads];
  auto* all = reinterpret_cast<maybe<T>*>(memory);
  all[threadIdx.x] = mine;
  for (unsigned step = 1; step < visit_threads; step *= 2) {
    __syncthreads();
    const unsigned i = threadIdx.x * 2 * step;
    if (i + step < visit_threads && all[i + step].there) {
      all[i] = all[i].there ? maybe<T>{combine(all[i].x, all[i + step].x), true} : all[i + step];
    }
  }
  __syncthreads();
  const maybe<T> whole = all[0];
  __syncthreads();
  return whole;
}

/// Block b folds a contiguous run of lines. In any order, each thread strides over the run and the block folds once. By
/// key, the block folds after every stride, so that the combination follows key order.
template <bool ByKey, class Ref, class T, class Map, class Combine>
__global__ void __launch_bounds__(visit_threads)
    reduce_lines(const __grid_constant__ Ref ref, std::uint64_t first, std::uint64_t last,
                 std::uint64_t lines_per_block, Map map, Combine combine, maybe<T>* partial) {
  constexpr unsigned slots = std::remove_cvref_t<decltype(ref.layout())>::shape::keys_per_line;
  const std::uint64_t end = (last + slots - 1) / slots;
  const std::uint64_t begin = first / slots + blockIdx.x * lines_per_block;
  const std::uint64_t stop = begin + lines_per_block < end ? begin + lines_per_block : end;
  maybe<T> mine{T{}, false}, total{T{}, false};
  const auto take = [&](std::uint64_t, const T& x) {
    mine = mine.there ? maybe<T>{combine(mine.x, x), true} : maybe<T>{x, true};
  };
  for (std::uint64_t base = begin; base < stop; base += visit_threads) {
    const std::uint64_t line = base + threadIdx.x;
    if (line < stop) visit_line(ref, line, first, last, map, take);
    if constexpr (ByKey) {
      const maybe<T> stride = fold_block(mine, combine);
      if (stride.there) total = total.there ? maybe<T>{combine(total.x, stride.x), true} : stride;
      mine.there = false;
    }
  }
  if constexpr (!ByKey) total = fold_block(mine, combine);
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

/// Combines `init` and the results of the blocks in order: one block, in which each thread takes a contiguous run.
template <class T, class Combine>
__global__ void __launch_bounds__(visit_threads)
    fold_partials(const maybe<T>* partial, unsigned count, T init, Combine combine, T* out) {
  const unsigned run = (count + visit_threads - 1) / visit_threads;
  maybe<T> mine{T{}, false};
  for (unsigned i = threadIdx.x * run; i < (threadIdx.x + 1) * run && i < count; ++i) {
    if (partial[i].there) mine = mine.there ? maybe<T>{combine(mine.x, partial[i].x), true} : partial[i];
  }
  const maybe<T> whole = fold_block(mine, combine);
  if (threadIdx.x == 0) *out = whole.there ? combine(init, whole.x) : init;
}

/// Lines and blocks that a visit covers.
struct visit_extent {
  std::uint64_t lines;
  unsigned blocks;

  template <class Tree, class Options>
  visit_extent(const Tree&, const Options& v) {
    constexpr unsigned slots = 32 / sizeof(word_of<typename Tree::key_type>);
    lines = v.last == v.first ? 0 : (v.last + slots - 1) / slots - v.first / slots;
    blocks = static_cast<unsigned>((lines + visit_threads - 1) / visit_threads);
  }
};

template <class Tree, class F, class Options>
void enqueue_for_each(const Tree& tree, const F& f, const Options& v, const stream& order) {
  const visit_extent extent(tree, v);
  if (extent.lines == 0) return;
  const device_guard guard(tree.get_device().ordinal());
  const cudaStream_t native = cuda_backend::native(order);
  if (v.order == visit_order::by_key) {
    for_each_in_order<<<1, 1, 0, native>>>(tree.ref(), v.first, v.last, call_for_effect<F>{f});
  } else {
    for_each_line<<<extent.blocks, visit_threads, 0, native>>>(tree.ref(), v.first, v.last, call_for_effect<F>{f});
  }
  check_cuda(cudaGetLastError(), "for_each");
}

template <class Tree, class T, class F, class Options>
void enqueue_transform(const Tree& tree, T* out, const F& f, const Options& v, const stream& order) {
  const visit_extent extent(tree, v);
  if (extent.lines == 0) return;
  const device_guard guard(tree.get_device().ordinal());
  const bool local = tree.get_device().is_local(out);
  const std::size_t n = v.last - v.first;
  const buffer<T> hold(tree.get_device(), local ? 0 : n, order);
  T* target = local ? out : hold.data();
  transform_lines<<<extent.blocks, visit_threads, 0, cuda_backend::native(order)>>>(tree.ref(), v.first, v.last, target,
                                                                                    f);
  check_cuda(cudaGetLastError(), "transform");
  if (!local) tree.get_device().copy(out, target, n * sizeof(T), order);
}

template <class Tree, class T, class Map, class Combine, class Options>
void enqueue_reduce(const Tree& tree, T* out, T init, const Map& map, Combine combine, const Options& v,
                    const stream& order) {
  static_assert(std::is_trivially_copyable_v<T>, "a reduction on a GPU needs a trivially copyable result");
  const visit_extent extent(tree, v);
  const device_guard guard(tree.get_device().ordinal());
  const cudaStream_t native = cuda_backend::native(order);
  const cuda_backend backend(tree.get_device());
  // Enough blocks to fill the GPU several times over, so that the tail of the last blocks is short.
  const std::uint64_t most = 32u * static_cast<unsigned>(backend.sm_count());
  const std::uint64_t blocks = std::max<std::uint64_t>(1, std::min<std::uint64_t>(extent.blocks, most));
  const std::uint64_t per_block = (extent.lines + blocks - 1) / blocks;
  const auto grid = extent.lines == 0 ? 0u : static_cast<unsigned>((extent.lines + per_block - 1) / per_block);
  const buffer<maybe<T>> partial(tree.get_device(), blocks, order);
  const bool local = tree.get_device().is_local(out);
  const buffer<T> hold(tree.get_device(), local ? 0 : 1, order);
  T* target = local ? out : hold.data();
  const auto ref = tree.ref();
  if (grid != 0 && v.order == visit_order::by_key) {
    reduce_lines<true>
        <<<grid, visit_threads, 0, native>>>(ref, v.first, v.last, per_block, map, combine, partial.data());
  } else if (grid != 0) {
    reduce_lines<false>
        <<<grid, visit_threads, 0, native>>>(ref, v.first, v.last, per_block, map, combine, partial.data());
  }
  fold_partials<<<1, visit_threads, 0, native>>>(partial.data(), grid, init, combine, target);
  check_cuda(cudaGetLastError(), "reduce");
  if (!local) tree.get_device().copy(out, target, sizeof(T), order);
}

}  // namespace detail
}  // namespace espalier
