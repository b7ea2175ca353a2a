// cpu_executor.hpp - executes the B-link tree's jobs on a CPU. cuda_executor.cuh is the GPU version.
#pragma once

#include <algorithm>
#include <array>

#include "blink_tree/batch_columns.hpp"
#include "blink_tree/cpu_kernels.hpp"
#include "blink_tree/fold.hpp"
#include "blink_tree/plan.hpp"
#include "espalier/blink_tree/run.hpp"
#include "espalier/team/scalar_team.hpp"
#include "static_tree/cpu_executor.hpp"

namespace espalier::detail {

class blink_cpu_executor : public cpu_executor {
 public:
  using cpu_executor::cpu_executor;
  using single_thread_team = scalar_team;  ///< one thread
  static constexpr bool two_passes = false;
  /// Calls of the owner may come from several threads concurrently, so its reads always allow for concurrent writes.
  template <protocol Protocol>
  using reads = std::conditional_t<Protocol == protocol::single_writer, own_reads, racing_reads>;

  /// On a CPU, searches consult the inner nodes with or without refs: `after_refs` is not used.
  template <class Reads, class Traits, class Job>
  void launch_read(const Job& job, std::size_t n, [[maybe_unused]] bool after_refs) {
    launch_on<Reads, Traits>(job, n, false);
  }
  /// Plan partition_first: buckets are parts of the express lane. Returns false, with nothing answered, if the batch or
  /// the tree is too small for buckets. Throws out_of_memory before any answer was written.
  template <class Reads, class Traits, class Job>
  [[nodiscard]] bool launch_in_buckets(const Job& job, std::size_t leaf_bytes, std::size_t n) {
    const auto& lane = job.tree.lane;
    if (lane.size == 0) return false;
    // A query reads up to five lines of a leaf, those of a static tree one: buckets of 128 KiB of leaves in place of 4
    // MiB stay in an L2 of 1 MB. 2^20 finds of u64 in 2^20 keys take 61 ns in place of 70
    // (docs/design/blink-tree.md).
    constexpr std::size_t finer = 32;
    return answer_in_buckets(cpu_backend(get_device()), order(), job, lane.headers, lane.groups, finer * leaf_bytes, n,
                             kernel_of<Reads, Traits>(job));
  }
  /// Tests the leaves of a sample of the keys of a batch, or of its lower ends.
  template <class View>
  [[nodiscard]] static batch_sample sample_of(const View& tree, const void* keys, std::size_t n) {
    constexpr std::size_t samples = 64;
    using descent = descender<scalar_team, own_reads, View>;
    using word = typename View::leaf_shape::word;
    if (tree.lane.size == 0 || n < samples) return batch_sample::few_leaves;
    std::array<std::uint64_t, samples> lines;
    const std::size_t step = n / samples;
    for (std::size_t i = 0; i < samples; ++i) {
      // Not at equal distances, at which a batch of several interleaved parts could look ordered.
      const word x = encode_bits(tree.key, load_bits<word>(tree.key, keys, i * step + i * 2654435761u % step));
      lines[i] = descent::line_of(scalar_team{}, tree, x);
    }
    const bool ordered = std::is_sorted(lines.begin(), lines.end()) || std::is_sorted(lines.rbegin(), lines.rend());
    std::sort(lines.begin(), lines.end());
    const auto leaves = std::unique(lines.begin(), lines.end()) - lines.begin();
    return leaves < static_cast<std::ptrdiff_t>(samples / 2) ? batch_sample::few_leaves
           : ordered                                         ? batch_sample::ordered
                                                             : batch_sample::spread;
  }
  /// With `Alone`, one team executes all elements in sequence.
  template <class Reads, class Traits, bool Alone, class Job>
  void launch_write(const Job& job, std::size_t n) {
    launch_on<Reads, Traits>(job, n, Alone);
  }
  template <class Word>
  void fold(const batch_runs<Word>& batch, folded* out) {
    fold_on_cpu(get_device(), batch, out);
  }
  /// Reads one word that running teams may be changing.
  template <class T>
  [[nodiscard]] static T read_word(T* p) {
    return atomic_word_ref{p}.load_acquire();
  }

  /// The same by teams that hold a whole leaf.
  template <template <class> class Body, class View>
  void for_each_whole_leaf(std::size_t n, const Body<View>& body) {
    for_each_leaf(n, body);
  }
  template <class Body>
  void for_each_leaf(std::size_t n, const Body& body) {
    for_each(n, by_one_thread<Body>{body});
  }
  /// Executes in sequence in this thread.
  template <class Body>
  static void leaves_in_turn(std::size_t n, const Body& body) {
    in_turn(n, by_one_thread<Body>{body});
  }

 private:
  template <class Body>
  struct by_one_thread {
    const Body& body;
    void operator()(std::size_t i) const { body(scalar_team{}, i); }
    [[nodiscard]] prefetch_hint prefetch_address(std::size_t i) const requires requires { body.prefetch_address(i); }
    { return body.prefetch_address(i); }
  };

  template <class Reads, class Traits, class Job>
  void launch_on(const Job& job, std::size_t n, bool alone) {
    if (alone) {
      by_scalar_team<Reads, Traits>(job, 0, n);
      return;
    }
    const cpu_piece<Job> piece = kernel_of<Reads, Traits>(job);
    cpu_backend(get_device()).for_each_chunk(n, 512, [&](std::size_t first, std::size_t last) {
      piece(job, first, last);
    });
  }
  template <class Reads, class Traits, class Job>
  static void by_scalar_team(const Job& job, std::size_t first, std::size_t last) {
    blink_runner<scalar_team, Reads, Traits, decltype(job.tree)>::run(scalar_team{}, job, first, last);
  }
  template <class Reads, class Traits, class Job>
  [[nodiscard]] static cpu_piece<Job> kernel_of(const Job& job) {
    const cpu_piece<Job> simd = blink_simd_kernel<Reads>(job);
    return simd != nullptr ? simd : by_scalar_team<Reads, Traits, Job>;
  }
};

}  // namespace espalier::detail
