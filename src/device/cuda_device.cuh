// cuda_device.cuh - one GPU as a device: its pool, its streams. Private to src/device.
//
// A GPU's processor (default stream, pool) is shared by all handles of that GPU, for as long as one handle lives.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <string>

#include "device/device_impl.hpp"
#include "espalier/device/cuda.cuh"

namespace espalier::detail {

/// An event. Unused events are kept for the next mark: creating one takes as long as recording ten.
class cuda_mark final : public event_impl {
 public:
  cuda_mark(int ordinal, cudaStream_t of, unsigned more_flags = 0);
  ~cuda_mark() override;
  [[nodiscard]] device_kind kind() const noexcept override { return device_kind::cuda; }
  [[nodiscard]] bool is_reached() const override;
  [[nodiscard]] cudaEvent_t native() const noexcept { return native_; }

 private:
  int ordinal_;
  unsigned flags_;
  cudaEvent_t native_ = nullptr;
};

class cuda_stream final : public stream_impl {
 public:
  cuda_stream(int ordinal, cudaStream_t native, bool owned);
  ~cuda_stream() override;
  [[nodiscard]] device_kind kind() const noexcept override { return device_kind::cuda; }
  [[nodiscard]] std::uint64_t id() const override;
  void synchronize() override;
  void synchronize_blocking() override;
  [[nodiscard]] bool is_done() const override;
  [[nodiscard]] std::shared_ptr<const event_impl> mark() override;
  void wait_for(const event_impl& mark) override;
  [[nodiscard]] void* native() const noexcept override { return native_; }

 private:
  int ordinal_;
  cudaStream_t native_;
  bool owned_;
  /// Id of a stream that this library created; other streams are queried each time, because handles are reused.
  std::uint64_t id_ = 0;
};

/// A separate memory pool, not the GPU's default one, so that the memory it caches does not depend on other users.
/// Deallocated memory is cached for the next request: the release threshold is unlimited, and cached memory returns to
/// the GPU when a request cannot be met otherwise, and when the pool is destroyed.
class cuda_pool final : public memory_resource {
 public:
  cuda_pool(int ordinal, std::string name);
  ~cuda_pool() override;
  cuda_pool(const cuda_pool&) = delete;
  cuda_pool& operator=(const cuda_pool&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override;
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override;
  [[nodiscard]] memory_info info() const override;

 private:
  int ordinal_;
  std::string name_;
  cudaMemPool_t pool_ = nullptr;
  std::size_t total_ = 0;
};

class cuda_device final : public device_impl {
 public:
  struct processor {
    int ordinal;
    std::string name;
    std::shared_ptr<cuda_stream> default_stream;
    std::shared_ptr<memory_resource> pool;
    std::shared_ptr<memory_resource> host_pool;
  };

  cuda_device(std::shared_ptr<processor> p, std::shared_ptr<memory_resource> pool)
      : processor_(std::move(p)), pool_(std::move(pool)) {}

  [[nodiscard]] device_kind kind() const noexcept override { return device_kind::cuda; }
  [[nodiscard]] std::string name() const override { return processor_->name; }
  [[nodiscard]] unsigned threads() const noexcept override { return 0; }
  [[nodiscard]] int ordinal() const noexcept override { return processor_->ordinal; }
  [[nodiscard]] const std::shared_ptr<memory_resource>& pool() const noexcept override { return pool_; }
  [[nodiscard]] const std::shared_ptr<memory_resource>& host_pool() const noexcept override {
    return processor_->host_pool;
  }
  [[nodiscard]] std::shared_ptr<device_impl> with_pool(std::shared_ptr<memory_resource> pool) const override;
  [[nodiscard]] std::shared_ptr<stream_impl> default_stream() const override { return processor_->default_stream; }
  [[nodiscard]] std::shared_ptr<stream_impl> make_stream() const override;
  [[nodiscard]] std::shared_ptr<stream_impl> wrap_stream(void* native) const override;
  [[nodiscard]] bool is_local(const void* p) const override;
  [[nodiscard]] bool is_pinned(const void* p) const override;
  [[nodiscard]] std::shared_ptr<const void> register_host(const void* p, std::size_t bytes) const override;
  void copy(void* to, const void* from, std::size_t bytes, stream_impl& s) const override;
  void fill(void* to, unsigned char byte, std::size_t bytes, stream_impl& s) const override;
  void enqueue(stream_impl& s, std::function<void()> work) const override;
  void invoke_in_order(stream_impl& s, const std::function<void()>& work) const override;

 private:
  std::shared_ptr<processor> processor_;
  std::shared_ptr<memory_resource> pool_;
};

}  // namespace espalier::detail
