// device_impl.hpp - implementation interfaces of the handles `device` and `stream`. Private to src/device.
//
// Invariants:
//   - A device_impl is immutable: with_pool() makes a second one that shares the processor (threads or GPU, default
//     streams) and differs only in the pool.
//   - Every stream that a function below receives is resolved (never empty) and belongs to the same kind of
//     processor; device.cpp checks both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "espalier/device/device.hpp"

namespace espalier::detail {

class event_impl {
 public:
  virtual ~event_impl() = default;
  [[nodiscard]] virtual device_kind kind() const noexcept = 0;
  /// Returns whether the work before the mark has ended, or failed. Does not wait.
  [[nodiscard]] virtual bool is_reached() const = 0;
};

class stream_impl {
 public:
  stream_impl() = default;
  stream_impl(const stream_impl&) = delete;
  stream_impl& operator=(const stream_impl&) = delete;
  virtual ~stream_impl() = default;

  [[nodiscard]] virtual device_kind kind() const noexcept = 0;
  /// False for a cudaStream_t of the caller before a device resolves it.
  [[nodiscard]] virtual bool has_device() const noexcept { return true; }
  /// Id of the stream itself, the same for every handle; never reused.
  [[nodiscard]] virtual std::uint64_t id() const = 0;
  /// Waits for the work enqueued so far; throws its first error, once.
  virtual void synchronize() = 0;
  /// The same for long work: the calling thread yields its processor.
  virtual void synchronize_blocking() { synchronize(); }
  [[nodiscard]] virtual bool is_done() const = 0;
  [[nodiscard]] virtual std::shared_ptr<const event_impl> mark() = 0;
  /// `mark` belongs to a stream of the same kind of device.
  virtual void wait_for(const event_impl& mark) = 0;
  [[nodiscard]] virtual void* native() const noexcept = 0;
};

class device_impl {
 public:
  device_impl() = default;
  device_impl(const device_impl&) = delete;
  device_impl& operator=(const device_impl&) = delete;
  virtual ~device_impl() = default;

  [[nodiscard]] virtual device_kind kind() const noexcept = 0;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual unsigned threads() const noexcept = 0;
  [[nodiscard]] virtual int ordinal() const noexcept = 0;

  [[nodiscard]] virtual const std::shared_ptr<memory_resource>& pool() const noexcept = 0;
  [[nodiscard]] virtual const std::shared_ptr<memory_resource>& host_pool() const noexcept = 0;
  [[nodiscard]] virtual std::shared_ptr<device_impl> with_pool(std::shared_ptr<memory_resource> pool) const = 0;

  [[nodiscard]] virtual std::shared_ptr<stream_impl> default_stream() const = 0;
  [[nodiscard]] virtual std::shared_ptr<stream_impl> make_stream() const = 0;
  [[nodiscard]] virtual std::shared_ptr<stream_impl> wrap_stream(void* native) const = 0;

  [[nodiscard]] virtual bool is_local(const void* p) const = 0;
  [[nodiscard]] virtual bool is_pinned(const void* p) const = 0;
  [[nodiscard]] virtual std::shared_ptr<const void> register_host(const void* p, std::size_t bytes) const = 0;
  virtual void copy(void* to, const void* from, std::size_t bytes, stream_impl& s) const = 0;
  virtual void fill(void* to, unsigned char byte, std::size_t bytes, stream_impl& s) const = 0;
  virtual void enqueue(stream_impl& s, std::function<void()> work) const = 0;
  virtual void invoke_in_order(stream_impl& s, const std::function<void()>& work) const = 0;
};

}  // namespace espalier::detail
