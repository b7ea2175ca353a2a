// array.hpp - a host array that is contiguous for every type. std::vector<bool> is not, and bool is a key type.
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>

namespace espalier::test {

template <class T>
class array {
 public:
  array() = default;
  explicit array(std::size_t n) : data_(n == 0 ? nullptr : new T[n]()), size_(n) {}
  array(std::initializer_list<T> list) : array(list.size()) { std::copy(list.begin(), list.end(), begin()); }
  explicit array(std::span<const T> from) : array(from.size()) { std::copy(from.begin(), from.end(), begin()); }
  array(const array& other) : array(other.span()) {}
  array(array&& other) noexcept = default;
  array& operator=(array other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~array() = default;

  [[nodiscard]] T* data() noexcept { return data_.get(); }
  [[nodiscard]] const T* data() const noexcept { return data_.get(); }
  [[nodiscard]] std::size_t size() const noexcept { return data_ == nullptr ? 0 : size_; }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size(); }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size(); }
  [[nodiscard]] T& operator[](std::size_t i) noexcept { return data_[i]; }
  [[nodiscard]] const T& operator[](std::size_t i) const noexcept { return data_[i]; }
  [[nodiscard]] std::span<const T> span() const noexcept { return {data(), size()}; }
  [[nodiscard]] std::span<T> span() noexcept { return {data(), size()}; }

 private:
  std::unique_ptr<T[]> data_;
  std::size_t size_ = 0;
};

}  // namespace espalier::test
