// cpu_executor.hpp - executes the B-link tree's jobs on a CPU. cuda_executor.cuh is the GPU version.
#pragma once

#include "blink_tree/fold.hpp"
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

  /// Threads ask the inner nodes, whether or not there were refs.
  template <class Reads, class Writing, class Job>
  void launch_read(const Job& job, std::size_t n, [[maybe_unused]] bool after_refs) {
    launch_on<Reads, Writing>(job, n, false);
  }
  /// With `Alone`, one team executes all elements in sequence.
  template <class Reads, class Writing, bool Alone, class Job>
  void launch_write(const Job& job, std::size_t n) {
    launch_on<Reads, Writing>(job, n, Alone);
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

  template <class Reads, class Writing, class Job>
  void launch_on(const Job& job, std::size_t n, bool alone) {
    using view = decltype(job.tree);
    using runner = blink_runner<scalar_team, Reads, Writing, view>;
    const auto piece = [&job](std::size_t first, std::size_t last) { runner::run(scalar_team{}, job, first, last); };
    if (alone) {
      piece(0, n);
    } else {
      cpu_backend(get_device()).for_each_chunk(n, 512, piece);
    }
  }
};

}  // namespace espalier::detail
