// cuda_staging.cuh - memory of the caller on its way to a GPU and back, in pieces, while kernels run.
//
// Memory that is not local has a copy on the GPU. Copies to the GPU and copies to the host have a stream each, so that
// both directions of the bus and the kernels work at the same time (pageable memory is copied without overlap).
//
// Lifetime: a join_copies is declared after the buffers that its copies use, and waits for the copies in its
// destructor: after an error, too, neither buffers nor the caller's memory are in use when the call returns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/join/column.hpp"

namespace espalier::join_detail {

/// Rows of a piece: a multiple of 8, so that pieces do not share bytes of bitmaps. Copies of 16 MiB reach the bandwidth
/// of the bus, and what does not overlap is one piece.
inline constexpr std::size_t copy_rows = std::size_t{1} << 21;

class join_copies {
 public:
  join_copies(const device& dev, const stream& order) : dev_(dev), order_(order) {}
  ~join_copies() {
    for (const stream* s : {&in_, &out_}) {
      if (!*s) continue;
      try {
        s->synchronize();
      } catch (const error&) {  // the call throws that error, or one from before
      }
    }
  }
  join_copies(const join_copies&) = delete;
  join_copies& operator=(const join_copies&) = delete;

  [[nodiscard]] const device& get_device() const { return dev_; }
  [[nodiscard]] const stream& order() const { return order_; }

  /// Copies to the GPU, after everything that was enqueued on the order of the call when this was first called.
  void to_gpu(void* to, const void* from, std::size_t bytes) { dev_.copy(to, from, bytes, started(in_)); }
  /// What was copied to the GPU so far. Without any copy, waiting for it has no effect.
  [[nodiscard]] stream_event arrived() const { return in_ ? in_.mark() : stream_event{}; }
  /// Copies to the host what the order of the call has computed so far.
  void to_host(void* to, const void* from, std::size_t bytes) {
    const stream& s = started(out_);
    s.wait_for(order_.mark());
    dev_.copy(to, from, bytes, s);
  }
  /// Waits for all of it.
  void finish() {
    if (out_) order_.wait_for(out_.mark());
    order_.synchronize();
  }

 private:
  const stream& started(stream& s) {
    if (!s) {
      s = dev_.make_stream();
      s.wait_for(order_.mark());
    }
    return s;
  }

  device dev_;
  stream order_, in_, out_;
};

/// An array that kernels read: the caller's, or a copy.
template <class T>
class input_array {
 public:
  input_array() = default;
  input_array(const device& dev, const stream& order, const T* from, std::size_t n) : from_(from), data_(from), n_(n) {
    if (from == nullptr || n == 0 || dev.is_local(from)) return;
    hold_ = raw_buffer(dev, n * sizeof(T), order);
    data_ = static_cast<const T*>(hold_.data());
  }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] bool is_copy() const { return hold_.data() != nullptr; }
  /// Enqueues the copy of elements [first, last).
  void fetch(join_copies& copies, std::size_t first, std::size_t last) const {
    last = std::min(last, n_);
    if (!is_copy() || first >= last) return;
    copies.to_gpu(static_cast<T*>(hold_.data()) + first, from_ + first, (last - first) * sizeof(T));
  }
  void fetch(join_copies& copies) const { fetch(copies, 0, n_); }

 private:
  raw_buffer hold_;
  const T* from_ = nullptr;
  const T* data_ = nullptr;
  std::size_t n_ = 0;
};

/// An array that kernels write: the caller's, or one that is copied to it.
template <class T>
class output_array {
 public:
  output_array() = default;
  output_array(const device& dev, const stream& order, T* to, std::size_t n) : to_(to), data_(to), n_(n) {
    if (to == nullptr || n == 0 || dev.is_local(to)) return;
    hold_ = raw_buffer(dev, n * sizeof(T), order);
    data_ = static_cast<T*>(hold_.data());
  }
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] bool is_copy() const { return hold_.data() != nullptr; }
  void send(join_copies& copies, std::size_t first, std::size_t last) const {
    last = std::min(last, n_);
    if (!is_copy() || first >= last) return;
    copies.to_host(to_ + first, data_ + first, (last - first) * sizeof(T));
  }

 private:
  raw_buffer hold_;
  T* to_ = nullptr;
  T* data_ = nullptr;
  std::size_t n_ = 0;
};

/// The bytes of a bitmap, from the one with the first bit on.
class input_bitmap {
 public:
  input_bitmap() = default;
  input_bitmap(const device& dev, const stream& order, const bitmap_view& bits, std::size_t n)
      : offset_(bits.offset % 8),
        bytes_(dev, order, bits ? bits.bits + bits.offset / 8 : nullptr, bits ? (n + offset_ + 7) / 8 : 0) {}
  [[nodiscard]] bool is_copy() const { return bytes_.is_copy(); }
  [[nodiscard]] bitmap_view view() const { return {bytes_.data(), offset_}; }
  /// Enqueues the copy of the bits of rows [first, last); of a piece after another, all bytes that it needs.
  void fetch(join_copies& copies, std::size_t first, std::size_t last) const {
    bytes_.fetch(copies, first == 0 ? 0 : (offset_ + first + 7) / 8, (offset_ + last + 7) / 8);
  }

 private:
  std::size_t offset_ = 0;
  input_array<std::uint8_t> bytes_;
};

/// body(first, last) for pieces of [0, n): one piece unless memory is copied.
template <class Body>
void for_each_copied_piece(std::size_t n, bool is_copied, const Body& body) {
  const std::size_t rows = is_copied ? copy_rows : std::max<std::size_t>(n, 1);
  for (std::size_t first = 0; first < n; first += rows) body(first, std::min(n, first + rows));
}

}  // namespace espalier::join_detail
