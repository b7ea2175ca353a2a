// state.hpp - what stands behind the handles `device` and `stream`. Private to src/device.
//
// Invariants:
//   - A device state is immutable: with_pool() makes a second state that shares the processor (threads or
//     GPU, default streams) and differs in the pool only.
//   - Every stream a function below is given is resolved (never empty) and was made by a state of the same
//     processor kind; device.cpp checks both before it calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "espalier/device/device.hpp"

namespace espalier::detail {

class mark_state {
 public:
  virtual ~mark_state() = default;
  [[nodiscard]] virtual device_kind kind() const noexcept = 0;
  /// Has the work before it ended, or failed? Does not wait.
  [[nodiscard]] virtual bool is_reached() const = 0;
};

class stream_state {
 public:
  stream_state() = default;
  stream_state(const stream_state&) = delete;
  stream_state& operator=(const stream_state&) = delete;
  virtual ~stream_state() = default;

  [[nodiscard]] virtual device_kind kind() const noexcept = 0;
  /// Of the stream itself, whatever handle it is reached by; never given out again.
  [[nodiscard]] virtual std::uint64_t id() const = 0;
  /// Waits for the work enqueued so far; throws the first error it met, once.
  virtual void synchronize() = 0;
  /// The same for work that takes long: the calling thread gives up its processor.
  virtual void synchronize_asleep() { synchronize(); }
  [[nodiscard]] virtual bool is_done() const = 0;
  [[nodiscard]] virtual std::shared_ptr<const mark_state> mark() = 0;
  /// Of a stream of the same kind of device.
  virtual void wait_for(const mark_state& mark) = 0;
  [[nodiscard]] virtual void* native() const noexcept = 0;
};

class device_state {
 public:
  device_state() = default;
  device_state(const device_state&) = delete;
  device_state& operator=(const device_state&) = delete;
  virtual ~device_state() = default;

  [[nodiscard]] virtual device_kind kind() const noexcept = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual unsigned threads() const noexcept = 0;
  [[nodiscard]] virtual int ordinal() const noexcept = 0;

  [[nodiscard]] virtual const std::shared_ptr<memory_pool>& pool() const noexcept = 0;
  [[nodiscard]] virtual const std::shared_ptr<memory_pool>& host_pool() const noexcept = 0;
  [[nodiscard]] virtual std::shared_ptr<device_state> with_pool(std::shared_ptr<memory_pool> pool) const = 0;

  [[nodiscard]] virtual std::shared_ptr<stream_state> default_stream() const = 0;
  [[nodiscard]] virtual std::shared_ptr<stream_state> make_stream() const = 0;
  [[nodiscard]] virtual std::shared_ptr<stream_state> wrap_stream(void* native) const = 0;

  [[nodiscard]] virtual bool is_local(const void* p) const = 0;
  [[nodiscard]] virtual bool is_pinned(const void* p) const = 0;
  [[nodiscard]] virtual std::shared_ptr<const void> map_host(const void* p, std::size_t bytes) const = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, stream_state& s) const = 0;
  virtual void fill(void* to, unsigned char byte, std::size_t bytes, stream_state& s) const = 0;
  virtual void enqueue(stream_state& s, std::function<void()> work) const = 0;
  virtual void run_now(stream_state& s, const std::function<void()>& work) const = 0;
};

}  // namespace espalier::detail
