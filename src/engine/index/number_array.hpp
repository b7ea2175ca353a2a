// number_array.hpp - an immutable array of 32-bit or 64-bit numbers: row ids, words of keys, positions.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace espalier::engine {

/// Owns the numbers or refers to a mapped file. Copies share the numbers.
class number_array {
 public:
  number_array() = default;
  template <class T>
  explicit number_array(std::vector<T> numbers) {
    auto own = std::make_shared<const std::vector<T>>(std::move(numbers));
    *this = number_array(std::span<const T>(*own), own);
  }
  number_array(std::span<const std::uint32_t> numbers, std::shared_ptr<const void> hold)
      : narrow_(numbers.data()), size_(numbers.size()), hold_(std::move(hold)) {}
  number_array(std::span<const std::uint64_t> numbers, std::shared_ptr<const void> hold)
      : wide_(numbers.data()), size_(numbers.size()), hold_(std::move(hold)) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] bool is_wide() const noexcept { return wide_ != nullptr; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * (is_wide() ? 8 : 4); }
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const { return wide_ != nullptr ? wide_[i] : narrow_[i]; }

  [[nodiscard]] std::span<const std::uint32_t> narrow() const { return {narrow_, is_wide() ? 0 : size_}; }
  [[nodiscard]] std::span<const std::uint64_t> wide() const { return {wide_, is_wide() ? size_ : 0}; }
  /// Calls f(span) with a span of the numbers' type.
  template <class F>
  decltype(auto) visit(F&& f) const {
    return is_wide() ? f(wide()) : f(narrow());
  }
  /// Copies numbers [from, to) to `out`.
  void copy(std::size_t from, std::size_t to, std::uint64_t* out) const {
    visit([&](auto numbers) {
      for (std::size_t i = from; i < to; ++i) *out++ = numbers[i];
    });
  }
  /// Returns the first position in [from, to), where numbers ascend, whose number is not less than `number`.
  [[nodiscard]] std::size_t lower_bound(std::size_t from, std::size_t to, std::uint64_t number) const {
    while (from < to) {
      const std::size_t middle = from + (to - from) / 2;
      if ((*this)[middle] < number) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

 private:
  const std::uint32_t* narrow_ = nullptr;
  const std::uint64_t* wide_ = nullptr;
  std::size_t size_ = 0;
  std::shared_ptr<const void> hold_;
};

}  // namespace espalier::engine
