// device.hpp - where an index lives and who computes. No CUDA header is needed to use this file.
//
// Three words:
//   device   a processor with memory: the CPU (a number of threads) or one GPU. A cheap, shared handle.
//   stream   work in order. On a GPU a cudaStream_t; on a CPU a queue with one worker that runs each piece
//            of work with all threads of the device.
//   backend  the compile-time side, used by index owners only: cpu_backend (device/cpu.hpp, oneTBB) and
//            cuda_backend (device/cuda.cuh). Both model the concept below, so that an index owner is
//            written once as a template over Backend.
//
// A backend B offers (a GPU's takes the stream first and enqueues; a CPU's is done when it returns):
//   b.for_each(n, body)              body(i) for each i in [0, n)
//   b.for_each_team<Team>(n, body)   body(team, i) for each i, each by one team of that kind
//   b.sort_pairs(...)                stable radix sort of unsigned words with 0/4/8/16-byte values
//   b.exclusive_scan(in, out, n)     prefix sums of u64, i64, int128
// Memory and copies are the device's own (below), since they need no compile-time knowledge.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "espalier/core/error.hpp"
#include "espalier/device/memory_pool.hpp"

namespace espalier {

enum class device_kind { cpu, cuda };

namespace detail {
class device_state;
class stream_state;
class mark_state;
}  // namespace detail

/// A point in the order of a stream, for other streams to wait for.
class stream_mark {
 public:
  stream_mark() = default;  ///< nothing to wait for
  explicit stream_mark(std::shared_ptr<const detail::mark_state> state) : state_(std::move(state)) {}
  [[nodiscard]] const std::shared_ptr<const detail::mark_state>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<const detail::mark_state> state_;
};

/// Work in order. Copies of a stream are the same stream. Thread-safe.
class stream {
 public:
  stream() = default;  ///< "the device's default stream", resolved by the call that takes it
  explicit stream(std::shared_ptr<detail::stream_state> state) : state_(std::move(state)) {}

  /// Waits until all work enqueued so far is done; rethrows the first error that asynchronous work met.
  void synchronize() const;
  /// Has all of that been done, or failed? Does not wait and does not throw; synchronize() tells of errors.
  [[nodiscard]] bool is_done() const;
  /// Behind all work that is enqueued now. Of an empty stream: nothing to wait for.
  [[nodiscard]] stream_mark mark() const;
  /// What is enqueued from now on begins when the work before that mark has ended. The mark is of a stream of the same
  /// kind of device. Returns at once. Work that is enqueued must not itself wait for a stream that may wait for a mark
  /// behind it.
  void wait_for(const stream_mark& mark) const;
  /// cudaStream_t of a GPU stream, null on a CPU.
  [[nodiscard]] void* native() const;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  [[nodiscard]] const std::shared_ptr<detail::stream_state>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<detail::stream_state> state_;
};

/// A processor with memory. Cheap to copy; copies are the same device.
class device {
 public:
  /// The CPU. `threads` = 0: all cores this process may use.
  [[nodiscard]] static device cpu(unsigned threads = 0);
  /// A GPU; throws `error` with the reason if there is none or this build has no CUDA code.
  [[nodiscard]] static device cuda(int ordinal = 0);
  /// The first GPU if there is a usable one, else the CPU with all cores.
  [[nodiscard]] static device best();
  /// The CPU, then every usable GPU.
  [[nodiscard]] static std::vector<device> all();

  [[nodiscard]] device_kind kind() const noexcept;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] unsigned threads() const noexcept;  ///< CPU threads; 0 on a GPU
  [[nodiscard]] int ordinal() const noexcept;       ///< GPU number; -1 on the CPU
  [[nodiscard]] memory_info memory() const;         ///< what the pool can still give, and the whole
  // A GPU's pool that has no block left waits for the whole GPU, so that memory given back in any stream's order can be
  // used, and only then throws out_of_memory: a kernel that waits for the host (a persistent one) must not be running
  // when memory may run out.

  /// The same processor with another source of memory.
  [[nodiscard]] device with_pool(std::shared_ptr<memory_pool> pool) const;
  [[nodiscard]] const std::shared_ptr<memory_pool>& pool() const noexcept;
  /// Host memory that kernels of this device read and write by the same address: pinned on a GPU, pool() on a CPU.
  [[nodiscard]] const std::shared_ptr<memory_pool>& host_pool() const noexcept;

  /// On a GPU CUDA's legacy default stream. On a CPU each thread has one of its own, so that calls of several threads
  /// run concurrently; a thread that ends finishes what it has enqueued there first.
  [[nodiscard]] stream default_stream() const;
  [[nodiscard]] stream make_stream() const;
  /// A GPU stream made elsewhere (cudaStream_t); not destroyed by us. Trees that change forget it with the call. What
  /// is built in its order, static trees and answers in buffers, frees its memory there: destroy those first.
  [[nodiscard]] stream wrap_stream(void* native) const;
  /// `s`, or the default stream if `s` is empty. Throws `error` if `s` is of another kind of device.
  [[nodiscard]] stream resolve(const stream& s) const;

  /// Can kernels of this device read `p` at full speed? On a CPU: true. On a GPU: true for device memory,
  /// false for host memory (pinned or not), which owners stage through device memory.
  [[nodiscard]] bool is_local(const void* p) const;
  /// Do copies between host memory `p` and this device run beside its kernels and the caller? On a CPU: true. On a GPU:
  /// true for pinned memory (host_pool(), cudaHostAlloc, cudaHostRegister).
  [[nodiscard]] bool is_pinned(const void* p) const;

  /// Lets kernels of this device read host memory that is there already, at its own address, until the result is gone;
  /// that must be before the memory is given back. A GPU reads it over the bus, and its pages stay where they are.
  /// Throws `error` if the device cannot.
  [[nodiscard]] std::shared_ptr<const void> map_host(const void* p, std::size_t bytes) const;

  /// Stream-ordered copy between any two places (host or this device).
  void copy(void* to, const void* from, std::size_t bytes, const stream& s) const;
  void fill(void* to, unsigned char byte, std::size_t bytes, const stream& s) const;

  /// Runs `work` on the host in stream order: on a CPU enqueued on the stream's worker; on a GPU called at
  /// once (the work itself enqueues kernels).
  void enqueue(const stream& s, std::function<void()> work) const;
  /// Waits for the stream, then runs `work` in the calling thread (CPU); same as enqueue on a GPU.
  void run_now(const stream& s, const std::function<void()>& work) const;

  [[nodiscard]] const std::shared_ptr<detail::device_state>& state() const noexcept { return state_; }
  explicit device(std::shared_ptr<detail::device_state> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<detail::device_state> state_;
};

}  // namespace espalier
