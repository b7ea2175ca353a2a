// buffer.hpp - an owned array in the memory of a device.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/device/device.hpp"

namespace espalier {

/// Untyped owner of device memory. Move-only. Not thread-safe. The memory is freed in the order of the stream of
/// its allocation or of the last set_stream().
class raw_buffer {
 public:
  raw_buffer() = default;
  /// Allocates `bytes` from the pool of `d` in the order of `s`. Throws out_of_memory. The memory is uninitialised.
  raw_buffer(device d, std::size_t bytes, stream s, allocation_hint use = allocation_hint::any)
      : device_(std::move(d)), stream_(device_->resolve(s)), bytes_(bytes) {
    if (bytes_ != 0) data_ = device_->pool()->allocate_with_hint(use, bytes_, stream_);
  }
  raw_buffer(raw_buffer&& other) noexcept { swap(other); }
  raw_buffer& operator=(raw_buffer&& other) noexcept {
    raw_buffer(std::move(other)).swap(*this);
    return *this;
  }
  raw_buffer(const raw_buffer&) = delete;
  raw_buffer& operator=(const raw_buffer&) = delete;
  ~raw_buffer() {
    if (data_ != nullptr) device_->pool()->deallocate(data_, bytes_, stream_);
  }
  void swap(raw_buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(stream_, other.stream_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  /// Frees the memory in the order of this stream from now on. Precondition: all other uses of the memory precede that
  /// point of the stream.
  void set_stream(const stream& s) {
    if (device_) stream_ = device_->resolve(s);
  }

  [[nodiscard]] void* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// The device of the memory. Precondition: not default-constructed.
  [[nodiscard]] const device& get_device() const { return *device_; }
  /// The stream in whose order the memory is freed.
  [[nodiscard]] const stream& order() const noexcept { return stream_; }

 private:
  std::optional<device> device_;
  stream stream_;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Typed owner of `size()` elements in device memory, uninitialised at first. Move-only. Not thread-safe.
template <class T>
class buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  buffer() = default;
  /// Allocates n elements in the order of `s`. Throws out_of_memory.
  buffer(const device& d, std::size_t n, const stream& s = {}) : raw_(d, n * sizeof(T), s), size_(n) {}
  /// Takes ownership of untyped memory of `n` elements, or of an empty buffer.
  buffer(raw_buffer&& raw, std::size_t n) : raw_(std::move(raw)), size_(raw_.data() == nullptr ? 0 : n) {}

  /// As raw_buffer::set_stream().
  void set_stream(const stream& s) { raw_.set_stream(s); }

  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(raw_.data()); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::span<T> span() const noexcept { return {data(), size_}; }
  [[nodiscard]] std::size_t bytes() const noexcept { return raw_.bytes(); }

  /// Copies the elements to the host in the order of the buffer's stream, and blocks until the copy is complete.
  [[nodiscard]] std::vector<T> to_vector() const {
    if constexpr (std::is_same_v<T, bool>) {  // a vector of bool has no array to copy into
      const auto host = std::make_unique<bool[]>(size_);
      copy_to(host.get());
      return {host.get(), host.get() + size_};
    } else {
      std::vector<T> host(size_);
      copy_to(host.data());
      return host;
    }
  }

 private:
  void copy_to(T* host) const {
    if (size_ == 0) return;
    raw_.get_device().copy(host, data(), size_ * sizeof(T), raw_.order());
    raw_.order().synchronize();
  }

  raw_buffer raw_;
  std::size_t size_ = 0;
};

/// Copies host elements to a new buffer in device memory, in stream order. `host` must live until the copy is complete.
template <class T>
[[nodiscard]] buffer<std::remove_const_t<T>> to_device(const device& d, std::span<T> host, const stream& s = {}) {
  buffer<std::remove_const_t<T>> b(d, host.size(), s);
  if (!host.empty()) d.copy(b.data(), host.data(), host.size_bytes(), d.resolve(s));
  return b;
}

}  // namespace espalier
