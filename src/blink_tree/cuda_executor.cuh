// cuda_executor.cuh - executes the B-link tree's jobs on a GPU. cpu_executor.hpp is the CPU version.
#pragma once

#include "blink_tree/batch_columns.hpp"
#include "blink_tree/cuda_spread.cuh"
#include "blink_tree/fold.hpp"
#include "blink_tree/small_batch_launch.hpp"
#include "espalier/blink_tree/run.hpp"
#include "espalier/team/tile.cuh"
#include "static_tree/cuda_executor.cuh"

namespace espalier::detail {

/// Team i executes the i-th batch of a job.
template <class Runner, class Job>
struct run_batch {
  Job job;
  std::size_t n;
  unsigned batch;
  template <class Team>
  __device__ __forceinline__ void operator()(Team team, std::size_t i) const {
    const std::size_t first = i * batch;
    const std::size_t last = first + batch < n ? first + batch : n;
    Runner::run(team, job, first, last);
  }
};
/// The same, unless a word in device memory cancels it.
template <class Runner, class Job>
struct run_batch_if : run_batch<Runner, Job> {
  const std::uint32_t* unless_zero;  ///< cancelled if this word is 0; null: never cancelled
  template <class Team>
  __device__ __forceinline__ void operator()(Team team, std::size_t i) const {
    if (unless_zero == nullptr || *unless_zero != 0) run_batch<Runner, Job>::operator()(team, i);
  }
};
template <class Runner, class Job>
struct run_all {
  Job job;
  std::size_t n;
  template <class Team>
  __device__ __forceinline__ void operator()(Team team, std::size_t) const {
    Runner::run(team, job, 0, n);
  }
};

class blink_cuda_executor : public cuda_executor {
 public:
  using cuda_executor::cuda_executor;
  using single_thread_team = tile<1>;
  /// The owner separates its reads and writes by stream ordering, so bulk reads may use every cache.
  template <protocol>
  using reads = stable_reads;

  /// Number of lanes that work on a node together. For writes each lane has 16 bytes of the header and keys of a leaf.
  /// Mixed and ordered batches have more work between two memory accesses.
  template <class View>
  static constexpr unsigned write_lanes = View::leaf_shape::slots > 16 ? 16 : sizeof(typename View::leaf_shape::word);
  /// Number of lanes that hold a whole leaf in registers: more lanes would wait for each other, fewer would have too
  /// few registers.
  template <class View>
  static constexpr unsigned whole_lanes = View::leaf_shape::bytes <= 192 ? 1 : 2;
  template <class Job>
  struct team_of {
    using type = tile<1>;
  };
  template <class View>
  struct team_of<blink_fill_job<View>> {
    using type = tile<(View::leaf_shape::slots > 16 || sizeof(typename View::leaf_shape::word) == 8 ? 16 : 8)>;
  };
  template <class View>
  struct team_of<blink_rows_job<View>> : team_of<blink_fill_job<View>> {};
  template <class View>
  struct team_of<blink_write_job<View>> {
    using type = tile<write_lanes<View>>;
  };
  template <class View>
  struct team_of<blink_ordered_job<View>> {
    using type = tile<write_lanes<View>>;
  };
  template <class View, blink_op Op>
  struct team_of<blink_first_pass_job<View, Op>> {
    using shape = typename View::leaf_shape;
    static constexpr bool in_registers =
        shape::in_one_piece && (Op == blink_op::insert || Op == blink_op::insert_or_assign);
    using type = tile<(in_registers ? whole_lanes<View> : write_lanes<View>)>;
  };
  static constexpr bool two_passes = true;

  /// Executes reads of n queries. After refs, whose leaves the lane does not name, searches ask the inner nodes: by
  /// right links alone, 2^20 queries of as many appended keys took minutes.
  template <class Reads, class Traits, class Job>
  void launch_read(const Job& job, std::size_t n, bool after_refs) {
    using view = decltype(job.tree);
    constexpr bool has_small_leaves = view::leaf_shape::in_one_piece;  // chains of large leaves are short
    if constexpr (std::is_same_v<Traits, protocol_traits<protocol::blink, inner_index::express_lane>> &&
                  has_small_leaves) {
      if (after_refs)
        return launch_reads<blink_runner<typename team_of<Job>::type, asking<Reads>, Traits, view>>(job, n);
    }
    launch_reads<blink_runner<typename team_of<Job>::type, Reads, Traits, view>>(job, n);
  }
  template <class Runner, class Job>
  void launch_reads(const Job& job, std::size_t n) {
    using team = typename team_of<Job>::type;
    using runner = Runner;
    // One lane per element for the inner levels, if that leaves enough teams to fill the GPU.
    const unsigned batch = n >= (1u << 18) ? runner::batch : 1;
    cuda_backend(get_device())
        .for_each_team<team>(order(), (n + batch - 1) / batch, run_batch<runner, Job>{job, n, batch});
  }
  /// As launch_read, by plan partition_first, with buckets of lines of the express lane. Returns false, with nothing
  /// enqueued, if the batch or the lane is too small for buckets.
  template <class Reads, class Traits, class Job>
  [[nodiscard]] bool launch_in_buckets(const Job& job, std::size_t leaf_bytes, std::size_t n) {
    using runner = blink_runner<tile<1>, Reads, Traits, decltype(job.tree)>;
    const auto& lane = job.tree.lane;
    if (lane.size == 0) return false;
    return detail::launch_in_buckets<runner>(cuda_backend(get_device()), order(), job, lane.headers, lane.groups,
                                             job.tree.key, leaf_bytes, n);
  }
  template <class Reads, class Traits, bool Alone, class Job>
  void launch_write(const Job& job, std::size_t n) {
    if constexpr (Alone) {
      using team = typename team_of<Job>::type;
      using runner = blink_runner<team, Reads, Traits, decltype(job.tree)>;
      cuda_backend(get_device()).for_each_team<team>(order(), 1, run_all<runner, Job>{job, n});
    } else {
      launch_write_if<Reads, Traits>(job, n, nullptr);
    }
  }
  /// Cancelled kernels end at once.
  template <class Reads, class Traits, class Job>
  void launch_write_if(const Job& job, std::size_t n, const std::uint32_t* unless_zero) {
    using team = typename team_of<Job>::type;
    using runner = blink_runner<team, Reads, Traits, decltype(job.tree)>;
    const unsigned batch = n >= (1u << 18) ? runner::batch : 1;
    cuda_backend(get_device())
        .for_each_team<team>(order(), (n + batch - 1) / batch, run_batch_if<runner, Job>{{job, n, batch}, unless_zero});
  }
  /// small_batch.hpp describes it.
  template <class T>
  using mapped = cuda_mapped<T>;
  template <class T>
  [[nodiscard]] mapped<T> map_result() const {
    return {get_device().ordinal(), cuda_backend::native(order())};
  }
  template <class View>
  void launch_small(const small_batch_job<View>& job) {
    launch_small_batch(get_device(), cuda_backend::native(order()), job);
  }
  /// cuda_spread.cuh describes it.
  template <class View>
  void judge_spread(const View& tree, const void* keys, std::size_t n, float dense_from,
                    const std::uint32_t* unless_zero, std::uint32_t* apart) {
    launch_sample(sample_of<View>{tree, keys, nullptr, n}, judgement{dense_from, unless_zero, apart});
  }
  template <class View>
  void sample_spread(const View& tree, const void* keys, const std::uint32_t* list, std::size_t n, batch_spread* out) {
    launch_sample(sample_of<View>{tree, keys, list, n}, measurement{out});
  }
  template <class Word>
  void fold(const batch_runs<Word>& batch, folded* out) {
    fold_on_gpu(get_device(), order(), batch, out);
  }
  template <class T>
  [[nodiscard]] T read_word(T* p) {
    return read(p);
  }

  template <template <class> class Body, class View>
  void for_each_whole_leaf(std::size_t n, const Body<View>& body) {
    cuda_backend(get_device()).for_each_team<tile<whole_lanes<View>>>(order(), n, body);
  }
  template <class Body>
  void for_each_leaf(std::size_t n, const Body& body) {
    cuda_backend(get_device()).for_each_team<tile<4>>(order(), n, body);
  }

 private:
  template <class View, class Answer>
  void launch_sample(const sample_of<View>& sample, const Answer& answer) {
    const device_guard guard(get_device().ordinal());
    sample_kernel<<<1, sampled_keys, 0, cuda_backend::native(order())>>>(sample, answer);
    check_cuda(cudaGetLastError(), "sample_kernel");
  }
};

}  // namespace espalier::detail
