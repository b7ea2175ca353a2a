// column.hpp - an array of scalars in host memory whose type is known at run time.
//
// The harness handles 6 key types x 7 value types; only code that compares or adds is compiled per type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>

#include "espalier/core/scalar.hpp"

namespace espalier::bench {

/// It is uninitialised on construction, so that the threads that fill it place its pages. Copies share the elements.
class column {
 public:
  column() = default;
  column(scalar_kind kind, std::size_t size)
      : kind_(kind), size_(size), bytes_(std::make_shared_for_overwrite<std::uint64_t[]>((byte_count() + 7) / 8)) {}

  [[nodiscard]] scalar_kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t byte_count() const noexcept { return size_ * bytes_of(kind_); }
  /// Returns null for a column without bytes, which represents the values of a set.
  [[nodiscard]] void* data() const noexcept { return bytes_of(kind_) == 0 ? nullptr : bytes_.get(); }
  template <class T>
  [[nodiscard]] std::span<T> as() const noexcept {
    return {static_cast<T*>(data()), size_};
  }
  void poison() const noexcept {
    if (data() != nullptr) std::memset(data(), 0xa5, byte_count());
  }

 private:
  scalar_kind kind_ = scalar_kind::opaque;
  std::size_t size_ = 0;
  std::shared_ptr<std::uint64_t[]> bytes_;
};

/// Copies element i of one column to position j of another of the same kind. Does nothing for columns without bytes.
inline void copy_element(const column& from, std::size_t i, const column& to, std::size_t j) {
  const std::size_t bytes = bytes_of(from.kind());
  if (bytes == 0) return;
  std::memcpy(static_cast<std::byte*>(to.data()) + j * bytes, static_cast<const std::byte*>(from.data()) + i * bytes,
              bytes);
}

/// Returns whether two elements of columns of the same kind have the same bits.
[[nodiscard]] inline bool same_element(const column& a, std::size_t i, const column& b, std::size_t j) {
  const std::size_t bytes = bytes_of(a.kind());
  return bytes == 0 || std::memcmp(static_cast<const std::byte*>(a.data()) + i * bytes,
                                   static_cast<const std::byte*>(b.data()) + j * bytes, bytes) == 0;
}

}  // namespace espalier::bench
