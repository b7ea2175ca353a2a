// device.hpp - devices and streams. No CUDA header is needed to use this file.
//
//   device   a processor with memory: the CPU (a number of threads) or one GPU. A cheap, shared handle.
//   stream   an ordered queue of work. On a GPU a cudaStream_t; on a CPU a queue with one worker that runs each item
//            with all threads of the device.
//   backend  the compile-time part, used by index owners only: cpu_backend (device/cpu.hpp, oneTBB) and cuda_backend
//            (device/cuda.cuh). An index owner is a template over Backend.
//
// A backend B has these members (a GPU backend takes the stream first and enqueues; a CPU backend blocks):
//   b.for_each(n, body)              body(i) for each i in [0, n)
//   b.for_each_team<Team>(n, body)   body(team, i) for each i, each by one team of that kind
//   b.sort_pairs(...)                stable radix sort of unsigned words with 0/4/8/16-byte values
//   b.exclusive_scan(in, out, n)     prefix sums of u64, i64, int128
// Memory and copies belong to the device (below), since they need no compile-time knowledge.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "espalier/core/error.hpp"
#include "espalier/device/memory_resource.hpp"

struct CUstream_st;  // CUDA's cudaStream_t and CUstream are pointers to it

namespace espalier {

enum class device_kind { cpu, cuda };

namespace detail {
class device_impl;
class stream_impl;
class event_impl;
}  // namespace detail

/// A point in the order of a stream that other streams can wait for (an event). Immutable, cheap to copy.
class stream_event {
 public:
  stream_event() = default;  ///< waiting for it has no effect
  explicit stream_event(std::shared_ptr<const detail::event_impl> state) : state_(std::move(state)) {}
  [[nodiscard]] const std::shared_ptr<const detail::event_impl>& state() const noexcept { return state_; }

 private:
  std::shared_ptr<const detail::event_impl> state_;
};

/// A CUDA stream of the caller: a cudaStream_t, what converts to it (rmm::cuda_stream_view, c10::cuda::CUDAStream), or
/// what returns it by get() (cuda::stream_ref, cuda::stream) or value().
template <class S>
concept CudaStream = std::convertible_to<const S&, CUstream_st*> || requires(const S& s) {
  { s.get() } -> std::same_as<CUstream_st*>;
} || requires(const S& s) {
  { s.value() } -> std::same_as<CUstream_st*>;
};

/// An ordered queue of work. Copies of a stream are the same stream. Thread-safe.
class stream {
 public:
  stream() = default;  ///< empty: the call that takes it uses the default stream of the device
  explicit stream(std::shared_ptr<detail::stream_impl> state) : state_(std::move(state)) {}
  /// A CUDA stream, which the caller keeps: every parameter of this type takes one. A call uses it as
  /// device::wrap_stream() would on its own device; a call on a CPU device throws `error`. Lifetime: see wrap_stream().
  template <CudaStream S>
  stream(const S& native) : stream(of_cuda(native_of(native))) {}  // NOLINT(google-explicit-constructor)
  stream(std::nullptr_t) = delete;  ///< say which stream: stream() is the default one of the device

  /// Blocks until all work enqueued so far is done. Rethrows the first error of that work. Throws `error` for an empty
  /// stream.
  void synchronize() const;
  /// True if all work enqueued so far has completed or failed. Does not block and does not throw; synchronize() throws
  /// errors.
  [[nodiscard]] bool is_done() const;
  /// Returns the point after all work enqueued so far. For an empty stream, waiting for it has no effect.
  [[nodiscard]] stream_event mark() const;
  /// Makes work enqueued from now on wait for the work before the mark. Does not block. Preconditions: the mark belongs
  /// to a stream of the same kind of device; enqueued work does not itself wait for a stream that may wait for a later
  /// mark.
  void wait_for(const stream_event& mark) const;
  /// The cudaStream_t of a GPU stream; null on a CPU.
  [[nodiscard]] void* native() const;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }
  [[nodiscard]] const std::shared_ptr<detail::stream_impl>& state() const noexcept { return state_; }

 private:
  template <class S>
  [[nodiscard]] static CUstream_st* native_of(const S& native) {
    if constexpr (std::convertible_to<const S&, CUstream_st*>) {
      return native;
    } else if constexpr (requires {
                           { native.get() } -> std::same_as<CUstream_st*>;
                         }) {
      return native.get();
    } else {
      return native.value();
    }
  }
  [[nodiscard]] static std::shared_ptr<detail::stream_impl> of_cuda(CUstream_st* native);

  std::shared_ptr<detail::stream_impl> state_;
};

/// A stream, as the last argument of calls whose other arguments are optional.
template <class S>
concept StreamArgument = std::same_as<S, stream> || CudaStream<S>;

/// A processor with memory. Cheap to copy; copies are the same device. Thread-safe: all methods are const and may run
/// concurrently.
class device {
 public:
  /// The CPU with this number of threads; 0 means all cores that the process may use.
  [[nodiscard]] static device cpu(unsigned threads = 0);
  /// A GPU. Throws `error` with the reason if there is none or the build has no CUDA code.
  [[nodiscard]] static device cuda(int ordinal = 0);
  /// The first usable GPU, or the CPU with all cores.
  [[nodiscard]] static device default_device();
  /// The CPU, then every usable GPU.
  [[nodiscard]] static std::vector<device> all();

  [[nodiscard]] device_kind kind() const noexcept;
  [[nodiscard]] std::string name() const;
  [[nodiscard]] unsigned threads() const noexcept;  ///< CPU threads; 0 on a GPU
  [[nodiscard]] int ordinal() const noexcept;       ///< GPU number; -1 on the CPU
  [[nodiscard]] memory_info memory() const;         ///< free and total bytes of the pool
  // The pool of a GPU synchronises the whole GPU before it throws out_of_memory, so that memory freed in the order of
  // any stream can be used. A kernel that waits for the host (a persistent one) must not run when memory may run out.

  /// The same processor with another memory pool.
  [[nodiscard]] device with_pool(std::shared_ptr<memory_resource> pool) const;
  /// The pool of the device's memory.
  [[nodiscard]] const std::shared_ptr<memory_resource>& pool() const noexcept;
  /// The pool of host memory that kernels of this device access by the same address: pinned memory on a GPU, pool() on
  /// a CPU.
  [[nodiscard]] const std::shared_ptr<memory_resource>& host_pool() const noexcept;

  /// The default stream. On a GPU it is CUDA's legacy default stream. On a CPU each thread has its own, so that calls
  /// of several threads run concurrently; a thread completes the work of its stream before it ends.
  [[nodiscard]] stream default_stream() const;
  /// Creates a stream.
  [[nodiscard]] stream make_stream() const;
  /// Wraps a cudaStream_t of the caller, which stays the owner; parameters of type `stream` do this themselves.
  /// Precondition: it belongs to this GPU. Lifetime: dynamic trees do not keep it beyond a call; static trees and
  /// buffers free their memory in its order, so they must be destroyed before the stream.
  [[nodiscard]] stream wrap_stream(void* native) const;
  /// Returns `s`, or the default stream if `s` is empty. A CUDA stream of the caller becomes a stream of this GPU.
  /// Throws `error` if `s` belongs to another kind of device.
  [[nodiscard]] stream resolve(const stream& s) const;

  /// True if kernels of this device read `p` at full speed. On a CPU always; on a GPU for device memory, not for host
  /// memory (pinned or not), which owners stage through device memory.
  [[nodiscard]] bool is_local(const void* p) const;
  /// True if copies between host memory `p` and this device overlap with kernels and the caller. On a CPU always; on a
  /// GPU for pinned memory (host_pool(), cudaHostAlloc, cudaHostRegister).
  [[nodiscard]] bool is_pinned(const void* p) const;

  /// Registers existing host memory, so that kernels of this device read it at its own address; a GPU reads it over the
  /// bus. Throws `error` if the device cannot. Lifetime: the registration ends with the result, which must be destroyed
  /// before the memory is freed.
  [[nodiscard]] std::shared_ptr<const void> register_host(const void* p, std::size_t bytes) const;

  /// Copies between host memory and memory of this device, in any direction, in stream order.
  void copy(void* to, const void* from, std::size_t bytes, const stream& s) const;
  /// Sets `bytes` bytes, in stream order.
  void fill(void* to, unsigned char byte, std::size_t bytes, const stream& s) const;

  /// Runs `work` in stream order: on a CPU the stream's worker executes it; on a GPU it is called immediately and
  /// itself enqueues kernels.
  void enqueue(const stream& s, std::function<void()> work) const;
  /// On a CPU, waits for the stream and runs `work` in the calling thread; on a GPU the same as enqueue().
  void invoke_in_order(const stream& s, const std::function<void()>& work) const;

  /// The implementation, for the library's own layers.
  [[nodiscard]] const std::shared_ptr<detail::device_impl>& state() const noexcept { return state_; }
  explicit device(std::shared_ptr<detail::device_impl> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<detail::device_impl> state_;
};

}  // namespace espalier
