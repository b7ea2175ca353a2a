// in_buckets.cuh - answers the queries of a partitioned batch on a GPU, one thread per query, bucket by bucket.
#pragma once

#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"
#include "static_tree/batch_columns.hpp"
#include "static_tree/batch_partition.hpp"

namespace espalier::detail {

/// The position in its piece of query q of the bucket order. All lanes of a warp make the call, with queries of one
/// group of 32. The segments of 32 queries are mostly among the next few, which the lanes load together; queries that
/// are further, behind many empty segments, search by themselves.
__device__ __forceinline__ std::uint32_t position_in_buckets(const bucket_order& order, std::uint32_t q) {
  constexpr unsigned all = ~0u, near = 31;
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t first = __ldcs(order.first + q / 32);
  const std::uint32_t next = first + 1 + lane;
  const std::uint32_t before = lane < near && next < order.segments ? order.before[next] : ~std::uint32_t{0};
  unsigned passed = 0;  // of the next 31 segments, those that start at or before q
#pragma unroll
  for (unsigned step = 16; step != 0; step /= 2) {
    const std::uint32_t there = __shfl_sync(all, before, static_cast<int>(passed + step - 1));
    if (there <= q) passed += step;
  }
  const std::uint32_t near_one = first + passed;
  const std::uint32_t segment = passed < near ? near_one : order.last_segment(near_one, q);
  return order.begin[segment] + (q - order.before[segment]);
}

/// Runs a job over n queries, n < 2^32 - 255. The keys of in_order are partitioned, those of as_given are the caller's.
/// There are two jobs, because a copy that a thread changes would lie in local memory.
template <class Runner, class Job>
__global__ void __launch_bounds__(256)
    in_buckets_kernel(std::uint32_t n, const __grid_constant__ bucket_order order, const __grid_constant__ Job in_order,
                      const __grid_constant__ Job as_given) {
  const std::uint32_t q = blockIdx.x * 256 + threadIdx.x;
  if (*order.ascending != 0) {
    if (q < n) Runner::run(tile<1>{}, as_given, q, std::size_t{q} + 1);
    return;
  }
  // Lanes behind the end take part in the search for the segments.
  const std::size_t i = position_in_buckets(order, q < n ? q : n - 1);
  if (q < n) Runner::run(tile<1>{}, in_order, i, i + 1);
}

/// Answers a batch bucket by bucket; `headers` are those of the tree, or of the lane above its leaves. Returns false,
/// with nothing enqueued, if the tree has too few groups or the batch is empty. Throws out_of_memory, with some answers
/// written or none.
template <class Runner, class Word, class Job>
bool launch_in_buckets(const cuda_backend& backend, const stream& order, const Job& job,
                       const group_header<Word>* headers, std::uint32_t groups, scalar_kind kind,
                       std::size_t leaf_bytes, std::size_t n) {
  if (n == 0 || groups < 2) return false;
  Job piece = job;
  unsigned arrays = 0, widest = bytes_of(kind);
  columns_of<Job>::keys(piece, [&](const void*&) { ++arrays; });
  columns_of<Job>::answers(piece, [&](auto*& data, unsigned bytes) {
    if (data != nullptr) widest = std::max(widest, unit_of(data, bytes));
  });
  batch_partition<Word> partition(backend.get_device(), order, shape_of_buckets(n, leaf_bytes, widest),
                                  std::min(n, partition_piece), kind, arrays);
  for (std::size_t first = 0; first < n; first += partition_piece) {
    const auto count = static_cast<std::uint32_t>(std::min(partition_piece, n - first));
    const void* keys[2] = {nullptr, nullptr};
    answer_array answers[3];
    piece = job;
    unsigned i = 0;
    columns_of<Job>::keys(piece, [&](const void*& p) {
      p = static_cast<const std::byte*>(p) + first * bytes_of(kind);
      keys[i++] = p;
    });
    i = 0;
    columns_of<Job>::answers(piece, [&](auto*& p, unsigned bytes) {
      if (p == nullptr || bytes == 0) return;
      using pointer = std::remove_reference_t<decltype(p)>;
      p = reinterpret_cast<pointer>(reinterpret_cast<std::byte*>(p) + first * bytes);
      answers[i++] = {p, bytes};
    });
    const unsigned arrays_of_answers = i;
    partition.partition(headers, groups, keys, count);
    {
      const device_guard guard(backend.ordinal());
      Job in_order = piece;
      i = 0;
      columns_of<Job>::keys(in_order, [&](const void*& p) { p = partition.keys(i++); });
      in_buckets_kernel<Runner>
          <<<(count + 255) / 256, 256, 0, cuda_backend::native(order)>>>(count, partition.order(), in_order, piece);
      check_cuda(cudaGetLastError(), "in_buckets_kernel");
    }
    partition.restore(answers, arrays_of_answers);
  }
  return true;
}

}  // namespace espalier::detail
