// cuda_executor.cuh - Context of build.hpp on a GPU: every call enqueues on one stream.
#pragma once

#include "device/async_readback.cuh"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cuda.cuh"
#include "espalier/static_tree/index.hpp"
#include "espalier/static_tree/run.hpp"
#include "espalier/team/tile.cuh"
#include "static_tree/cuda_ends.cuh"
#include "static_tree/cuda_fill.cuh"
#include "static_tree/cuda_rows.cuh"
#include "static_tree/in_buckets.cuh"
#include "static_tree/sort_out_of_place.hpp"

namespace espalier::detail {

/// One GPU thread per query: teams of one thread keep the most loads in flight (docs/design/static-tree.md).
using query_team = tile<1>;

template <class Job>
struct run_one {
  Job job;
  template <class Team>
  __device__ __forceinline__ void operator()(Team team, std::size_t i) const {
    runner<Team>::run(team, job, i, i + 1);
  }
};

class cuda_executor {
 public:
  static constexpr bool on_gpu = true;
  static constexpr bool checks_order = false;  // would make every build wait for the result
  /// Measured at 2^24, where the copy does not pay off, and at 2^27, where it does.
  static constexpr std::size_t copied_before_sort = std::size_t{1} << 26;

  cuda_executor(const device& dev, const stream& order) : backend_(dev), device_(dev), order_(order) {}

  [[nodiscard]] const device& get_device() const { return device_; }
  [[nodiscard]] const stream& order() const { return order_; }

  /// A body may limit its concurrency: at most Body::most_at_once of its steps run concurrently.
  template <class Body>
  void for_each(std::size_t n, const Body& body) {
    if constexpr (requires { Body::most_at_once; }) {
      backend_.for_each(order_, n, body, Body::most_at_once);
    } else {
      backend_.for_each(order_, n, body);
    }
  }
  template <class Word>
  [[nodiscard]] bool sort_pairs(Word* keys, Word* keys_alt, void* values, void* values_alt, unsigned value_bytes,
                                std::size_t n, unsigned begin_bit = 0, unsigned end_bit = 8 * sizeof(Word)) {
    return backend_.sort_pairs(order_, keys, keys_alt, values, values_alt, value_bytes, n, begin_bit, end_bit);
  }
  /// Large inputs are copied first: there CUB's sort between two buffers is faster than its sort from constant memory,
  /// by more than the copy costs (docs/design/static-tree.md, build). Both use the same amount of memory.
  template <class Word, class Value>
  void sort_from(const Word* keys, buffer<Word>& sorted_keys, const Value* values, buffer<Value>& sorted_values,
                 std::size_t n, unsigned begin_bit = 0, unsigned end_bit = 8 * sizeof(Word)) {
    if (n >= copied_before_sort)
      return sort_out_of_place(*this, keys, sorted_keys, values, sorted_values, n, begin_bit, end_bit);
    const unsigned value_bytes = sorted_values.empty() ? 0 : sizeof(Value);
    backend_.sort_pairs_from(order_, keys, sorted_keys.data(), values, sorted_values.data(), value_bytes, n, begin_bit,
                             end_bit);
  }
  template <class T>
  void exclusive_scan(const T* in, T* out, std::size_t n) {
    backend_.exclusive_scan(order_, in, out, n);
  }
  void copy(void* to, const void* from, std::size_t bytes) { device_.copy(to, from, bytes, order_); }
  void zero(void* to, std::size_t bytes) { fill(to, 0, bytes); }
  void fill(void* to, unsigned char byte, std::size_t bytes) { device_.fill(to, byte, bytes, order_); }
  template <class T>
  [[nodiscard]] T read(const T* p) {
    return read_async(p).get();
  }
  template <class T>
  [[nodiscard]] cuda_readback<T> read_async(const T* p) {
    return {device_.ordinal(), p, cuda_backend::native(order_)};
  }

  /// Small tables fit L1, where more cells cost nothing; large ones compete with the headers for L2.
  [[nodiscard]] static std::uint64_t root_cells(std::uint32_t groups, unsigned word_bytes) {
    std::uint64_t cells = 1;
    while (cells * 2 <= groups) cells *= 2;
    if (groups < (1u << 14)) return cells * (word_bytes == 4 ? 2 : 4);
    if (groups < (1u << 18)) return cells * 4;
    if (groups < (1u << 20)) return cells * 2;
    return cells;
  }

  template <class Word, unsigned ValueBytes>
  void launch(const range_head_job<Word, ValueBytes>& job, std::size_t n, bool, node_search) {
    using warps = warp_rows<Word, ValueBytes>;
    backend_.for_each_team<typename warps::team>(order_, (n + warps::lanes - 1) / warps::lanes, warps{job, n});
  }
  template <class Word, unsigned ValueBytes>
  void launch(const count_job<Word, ValueBytes>& job, std::size_t n, bool, node_search) {
    launch_pairs(job, n);
  }
  template <class Word, unsigned ValueBytes>
  void launch(const aggregate_job<Word, ValueBytes>& job, std::size_t n, bool small, node_search search) {
    if constexpr (ValueBytes != 16) {
      if (aggregator<Word, ValueBytes>::sums_integers(job)) return launch_pairs(job, n);
    }
    launch<query_team>(job, n, small, search);
  }
  /// Takes scratch memory of 8 bytes per 512 positions.
  template <class Word, unsigned ValueBytes>
  void launch(const fill_job<Word, ValueBytes>& job, std::size_t positions, bool, node_search) {
    if (job.queries == 0 || positions == 0) return;
    const unsigned tile = fill_tile(positions);
    const std::size_t tiles = (positions - 1) / tile + 1;
    const buffer<std::uint64_t> first(device_, tiles, order_);
    for_each(tiles, find_first_ranges{job.offsets, job.queries, tile, first.data()});
    const auto fill = [&]<bool Plain>() {
      using warps = warp_fill<Word, ValueBytes, Plain>;
      backend_.for_each_team<typename warps::team>(order_, tiles, warps{job, first.data(), tile});
    };
    is_plain(job) ? fill.template operator()<true>() : fill.template operator()<false>();
  }
  template <class Team = query_team, class Job>
  void launch(const Job& job, std::size_t n, bool, node_search) {
    backend_.for_each_team<Team>(order_, n, run_one<Job>{job});
  }

  /// Plan partition_first. Returns false, with nothing enqueued, if the batch or the tree is too small for buckets.
  template <class Job>
  [[nodiscard]] bool launch_in_buckets(const Job& job, std::size_t leaf_bytes, std::size_t n) {
    const auto& t = job.tree;
    return detail::launch_in_buckets<runner<query_team>>(backend_, order_, job, t.headers, t.groups, t.key, leaf_bytes,
                                                         n);
  }

  /// Finding out would require a wait, and would not help: neighbouring threads share lines anyway.
  [[nodiscard]] static bool looks_ascending(scalar_kind, const void*, std::size_t) { return false; }

  void visit_pieces(std::uint64_t, std::uint64_t, visit_order,
                    const std::function<void(std::uint64_t, std::uint64_t, std::size_t)>&) const {
    throw error("visit: this tree lives on a GPU; compile the caller with nvcc to visit it there.");
  }

 private:
  template <class Job>
  void launch_pairs(const Job& job, std::size_t n) {
    backend_.for_each_team<typename pair_of_ends<Job>::team>(order_, n, pair_of_ends<Job>{job});
  }

  cuda_backend backend_;
  device device_;
  stream order_;
};

}  // namespace espalier::detail
