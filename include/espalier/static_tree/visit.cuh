// visit.cuh - visiting a static tree that lives on a GPU. Included by visit.hpp under nvcc; use that.
//
// One thread takes one line (8 or 4 elements), read with 16-byte loads: neighbouring threads read neighbouring lines,
// and every byte that moves is used. Floor: bytes of the lines / bandwidth of the memory.
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

/// visit(rank, result of f) for the elements of a line with first <= rank < last.
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
      if (whole || (begin + j >= first && begin + j < last)) visit(begin + j, f(codec<key>::decode(team.get(keys, j))));
    }
  } else {
    const auto values = team.template view<slots>(t.line_values(line));
#pragma unroll
    for (unsigned j = 0; j < slots; ++j) {
      const auto raw = team.get(values, j);
      value v;
      memcpy(static_cast<void*>(&v), &raw, sizeof(value));
      if (whole || (begin + j >= first && begin + j < last))
        visit(begin + j, f(codec<key>::decode(team.get(keys, j)), v));
    }
  }
}

/// f's result, or nothing where f returns nothing.
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

/// Key order on a GPU is one thread: right, and slow.
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

/// A value that may not be there yet: reduce asks for no identity.
template <class T>
struct maybe {
  T x;
  bool there;
};

/// Threads' partial results of a block in thread order; the whole in thread 0.
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

/// Block b folds a contiguous run of lines. In any order: each thread strides over the run and the block folds once; by
/// key: the block folds after every stride, so that the combination follows the keys.
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

template <class Tree>
struct visit_launch {
  cuda_backend backend;
  stream order;
  cudaStream_t native;
  std::uint64_t lines;
  unsigned blocks;

  template <class Options>
  visit_launch(const Tree& tree, const Options& v, const stream& s)
      : backend(tree.where()), order(tree.where().resolve(s)), native(cuda_backend::native(order)) {
    constexpr unsigned slots = 32 / sizeof(word_of<typename Tree::key_type>);
    lines = v.last == v.first ? 0 : (v.last + slots - 1) / slots - v.first / slots;
    blocks = static_cast<unsigned>((lines + visit_threads - 1) / visit_threads);
  }
};

template <class Tree, class F, class Options>
void for_each_on_gpu(const Tree& tree, const F& f, const Options& v, const stream& s) {
  const visit_launch<Tree> launch(tree, v, s);
  if (launch.lines == 0) return;
  const device_guard guard(launch.backend.ordinal());
  if (v.order == visit_order::by_key) {
    for_each_in_order<<<1, 1, 0, launch.native>>>(tree.ref(), v.first, v.last, call_for_effect<F>{f});
  } else {
    for_each_line<<<launch.blocks, visit_threads, 0, launch.native>>>(tree.ref(), v.first, v.last,
                                                                      call_for_effect<F>{f});
  }
  check_cuda(cudaGetLastError(), "for_each");
  launch.order.synchronize();
}

template <class Tree, class T, class F, class Options>
void transform_on_gpu(const Tree& tree, T* out, const F& f, const Options& v, const stream& s) {
  const visit_launch<Tree> launch(tree, v, s);
  if (launch.lines == 0) return;
  const device_guard guard(launch.backend.ordinal());
  const bool local = tree.where().is_local(out);
  const std::size_t n = v.last - v.first;
  buffer<T> hold(tree.where(), local ? 0 : n, launch.order);
  T* target = local ? out : hold.data();
  transform_lines<<<launch.blocks, visit_threads, 0, launch.native>>>(tree.ref(), v.first, v.last, target, f);
  check_cuda(cudaGetLastError(), "transform");
  if (!local) tree.where().copy(out, target, n * sizeof(T), launch.order);
  launch.order.synchronize();
}

template <class Tree, class T, class Map, class Combine, class Options>
[[nodiscard]] T reduce_on_gpu(const Tree& tree, T init, const Map& map, Combine combine, const Options& v,
                              const stream& s) {
  static_assert(std::is_trivially_copyable_v<T>, "a reduction on a GPU needs a trivially copyable result");
  const visit_launch<Tree> launch(tree, v, s);
  const device_guard guard(launch.backend.ordinal());
  // Enough blocks to fill the card several times over, so that the last ones to finish wait for little.
  const std::uint64_t blocks =
      std::min<std::uint64_t>(launch.blocks, 32u * static_cast<unsigned>(launch.backend.sm_count()));
  const std::uint64_t per_block = (launch.lines + blocks - 1) / blocks;
  buffer<maybe<T>> partial(tree.where(), blocks, launch.order);
  const auto grid = static_cast<unsigned>((launch.lines + per_block - 1) / per_block);
  const auto ref = tree.ref();
  if (v.order == visit_order::by_key) {
    reduce_lines<true>
        <<<grid, visit_threads, 0, launch.native>>>(ref, v.first, v.last, per_block, map, combine, partial.data());
  } else {
    reduce_lines<false>
        <<<grid, visit_threads, 0, launch.native>>>(ref, v.first, v.last, per_block, map, combine, partial.data());
  }
  check_cuda(cudaGetLastError(), "reduce");
  std::vector<maybe<T>> host(grid);
  tree.where().copy(host.data(), partial.data(), grid * sizeof(maybe<T>), launch.order);
  launch.order.synchronize();
  for (const auto& p : host) {
    if (p.there) init = combine(init, p.x);
  }
  return init;
}

}  // namespace detail
}  // namespace espalier
