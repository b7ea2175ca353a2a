// text_batch.hpp - str or bytes of an argument as a batch of a radix tree.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "columns.hpp"
#include "espalier/radix_tree/batch.hpp"

namespace espalier::python {

/// Keys of a tree in memory that the caller keeps.
[[nodiscard]] inline byte_string_batch batch_of(const char* bytes, const std::uint64_t* offsets, std::size_t n) {
  return byte_string_batch(std::span(bytes, static_cast<std::size_t>(offsets[n])), std::span(offsets, n + 1));
}

/// Strings of an argument in the tree's format. NULL is a string of any content.
class text_batch {
 public:
  /// Throws TypeError unless the argument has the type of the keys. A scalar is repeated `times` times.
  text_batch(nb::handle source, const data_type& keys, const char* what, std::size_t times = 1);
  text_batch(const text_batch&) = delete;

  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] const espalier::detail::byte_keys& raw() const { return keys_.raw(); }
  [[nodiscard]] bool is_scalar() const { return from_.from == origin::scalar; }
  [[nodiscard]] bool has_nulls() const { return from_.nulls != 0; }
  [[nodiscard]] bool is_valid(std::size_t i) const { return from_.is_valid(i); }
  [[nodiscard]] std::string_view operator[](std::size_t i) const { return from_.string_at(is_scalar() ? 0 : i); }
  [[nodiscard]] const column& source() const { return from_; }
  /// Clears the marks of NULLs.
  void clear_nulls(std::uint8_t* found) const {
    for (std::size_t i = 0; has_nulls() && i < size(); ++i) {
      if (!is_valid(i)) found[i] = 0;
    }
  }

  /// An answer of the kind that asked.
  [[nodiscard]] nb::object wrap(const data_type& type, const new_array& values) const {
    return is_scalar() ? scalar_at(type, values.data, 0) : wrap(values.array);
  }
  [[nodiscard]] nb::object wrap(const nb::object& values) const;

 private:
  column from_;
  std::vector<std::uint64_t> widened_;
  std::string repeated_;
  static constexpr std::uint64_t zero = 0;
  byte_string_batch keys_{std::span<const char>(), std::span<const std::uint64_t>(&zero, 1)};
};

}  // namespace espalier::python
