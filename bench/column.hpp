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

/// Uninitialised when made, so that the threads that fill it place its pages.
class column {
 public:
  column() = default;
  column(scalar_kind kind, std::size_t size)
      : kind_(kind), size_(size), bytes_(std::make_unique_for_overwrite<std::uint64_t[]>((byte_count() + 7) / 8)) {}

  [[nodiscard]] scalar_kind kind() const noexcept { return kind_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t byte_count() const noexcept { return size_ * bytes_of(kind_); }
  /// Null for a column without bytes, which stands for the values of a set.
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
  std::unique_ptr<std::uint64_t[]> bytes_;
};

}  // namespace espalier::bench
