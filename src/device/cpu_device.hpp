// cpu_device.hpp - the CPU as a device: a number of threads, default streams, and main memory.
//
// The processor (its threads) is shared by all handles with the same number of threads, and the pool by all CPU
// devices, for as long as one handle lives; so a new handle is cheap and finds warm memory. Default streams belong to
// the calling threads, one for each number of threads.
#pragma once

#include <memory>
#include <string>

#include "device/parallel_for_pieces.hpp"
#include "device/cpu_stream.hpp"
#include "device/device_impl.hpp"

namespace espalier::detail {

class cpu_processor {
 public:
  explicit cpu_processor(unsigned threads);
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] parallel_for_pieces& loop() noexcept { return loop_; }

 private:
  const unsigned threads_;
  const std::string name_;
  parallel_for_pieces loop_;
};

class cpu_device : public device_impl {
 public:
  cpu_device(std::shared_ptr<cpu_processor> processor, std::shared_ptr<memory_resource> pool)
      : processor_(std::move(processor)), pool_(std::move(pool)) {}

  [[nodiscard]] device_kind kind() const noexcept override { return device_kind::cpu; }
  [[nodiscard]] std::string name() const override { return processor_->name(); }
  [[nodiscard]] unsigned threads() const noexcept override { return processor_->threads(); }
  [[nodiscard]] int ordinal() const noexcept override { return -1; }
  [[nodiscard]] const std::shared_ptr<memory_resource>& pool() const noexcept override { return pool_; }
  [[nodiscard]] const std::shared_ptr<memory_resource>& host_pool() const noexcept override { return pool_; }
  [[nodiscard]] std::shared_ptr<device_impl> with_pool(std::shared_ptr<memory_resource> pool) const override;
  [[nodiscard]] std::shared_ptr<stream_impl> default_stream() const override;
  [[nodiscard]] std::shared_ptr<stream_impl> make_stream() const override { return std::make_shared<cpu_stream>(); }
  [[nodiscard]] std::shared_ptr<stream_impl> wrap_stream(void* native) const override;
  [[nodiscard]] bool is_local(const void*) const override { return true; }
  [[nodiscard]] bool is_pinned(const void*) const override { return true; }
  [[nodiscard]] std::shared_ptr<const void> register_host(const void*, std::size_t) const override { return nullptr; }
  /// Copies and fills wait for the stream and run in the calling thread (and those of the device): as with a copy of
  /// pageable memory in CUDA, both ends may be accessed again when the call returns.
  void copy(void* to, const void* from, std::size_t bytes, stream_impl& s) const override;
  void fill(void* to, unsigned char byte, std::size_t bytes, stream_impl& s) const override;
  void enqueue(stream_impl& s, std::function<void()> work) const override;
  void invoke_in_order(stream_impl& s, const std::function<void()>& work) const override;

  [[nodiscard]] cpu_processor& processor() const noexcept { return *processor_; }

 private:
  std::shared_ptr<cpu_processor> processor_;
  std::shared_ptr<memory_resource> pool_;
};

/// `threads` = 0 means all processors that this process may use.
[[nodiscard]] std::shared_ptr<device_impl> make_cpu_device(unsigned threads);

}  // namespace espalier::detail
