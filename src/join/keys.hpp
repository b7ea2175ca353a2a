// keys.hpp - the key types of joins: dispatch by scalar_kind, NaN, distances, shifted keys. Arguments of calls.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include "espalier/core/error.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/join/column.hpp"

namespace espalier::join_detail {

/// Calls body(Key{}) with the key type of this kind.
template <class Body>
decltype(auto) with_key_type(scalar_kind kind, const char* call, Body&& body) {
  switch (kind) {
    case scalar_kind::i32:
      return body(std::int32_t{});
    case scalar_kind::u32:
      return body(std::uint32_t{});
    case scalar_kind::i64:
      return body(std::int64_t{});
    case scalar_kind::u64:
      return body(std::uint64_t{});
    case scalar_kind::f32:
      return body(float{});
    case scalar_kind::f64:
      return body(double{});
    default:
      throw error(std::string(call) + " takes keys of type i32, u32, i64, u64, f32 or f64; convert the `on` columns.");
  }
}

/// Throws unless `dev` is a CPU.
inline void require_cpu(const char* call, const device& dev) {
  if (dev.kind() != device_kind::cpu) {
    throw error(std::string(call) + " runs on CPU devices and reads host memory; copy the columns to the host " +
                "and pass device::cpu().");
  }
}

inline void require_rows(const char* call, const char* what, std::size_t expected, std::size_t given) {
  if (expected != given) {
    throw error(std::string(call) + ": " + what + " has " + std::to_string(given) + " elements, but the rows are " +
                std::to_string(expected) + "; pass one element per row.");
  }
}

[[noreturn]] inline void throw_row_out_of_range(std::size_t rows) {
  throw error("gather_column(): a row number is not less than the " + std::to_string(rows) +
              " rows of the column; gather from the side that the row numbers belong to.");
}

[[noreturn]] inline void throw_sum_too_wide() {
  throw overflow("window_join(): a sum does not fit into 64 bits; pass an int128 output.");
}

/// Throws unless sizes and the number of groups of a side fit together. Codes are checked when they are read.
inline void require_side(const char* call, const char* name, const join_side& side) {
  const std::string start = std::string(call) + ": the " + name + " side ";
  if (side.on.size > max_join_rows) {
    throw error(start + "has more than 2^32 - 1 rows; split it by groups or by ranges of the key.");
  }
  if (side.on.size != 0 && side.on.data == nullptr) throw error(start + "has no key values; pass the `on` column.");
  if (!side.by.empty() && side.by.size() != side.on.size) {
    throw error(start + "has " + std::to_string(side.on.size) + " keys but " + std::to_string(side.by.size()) +
                " group codes; pass one code per row.");
  }
  if (!side.by.empty() && side.groups == no_group) throw error(start + "has too many groups; use at most 2^32 - 2.");
  if (side.by.empty() && side.groups != 0 && side.on.size != 0) {
    throw error(start + "has a number of groups but no group codes; pass `by`, or set groups to 0.");
  }
}

/// Throws unless both sides have the same type of key and the same groups.
inline void require_same_groups(const char* call, const join_side& left, scalar_kind right_kind,
                                std::uint32_t right_groups, bool right_is_empty) {
  if (left.on.size == 0 || right_is_empty) return;
  if (left.on.kind != right_kind) {
    throw error(std::string(call) + ": the `on` columns of both sides have different types; convert one of them.");
  }
  if (left.groups != right_groups) {
    throw error(std::string(call) + ": the left side has " + std::to_string(left.groups) +
                " groups and the right side " + std::to_string(right_groups) +
                "; encode the `by` columns of both sides with one group_encoder.");
  }
}

template <class Key>
[[nodiscard]] inline bool is_nan_key(Key key) {
  if constexpr (std::is_floating_point_v<Key>) {
    return key != key;
  } else {
    return false;
  }
}

/// -0.0 as +0.0: both are the same key, but have different order-preserving words.
template <class Key>
[[nodiscard]] inline Key normalized(Key key) {
  if constexpr (std::is_floating_point_v<Key>) {
    return key == Key{0} ? Key{0} : key;
  } else {
    return key;
  }
}

/// |a - b| for finite or equal keys: exact in u64 for integers, a double for floats.
template <class Key>
[[nodiscard]] inline auto distance_between(Key a, Key b) {
  if constexpr (std::is_floating_point_v<Key>) {
    return a == b ? 0.0 : std::fabs(static_cast<double>(a) - static_cast<double>(b));  // inf - inf is NaN
  } else {
    const auto wide_a = static_cast<std::uint64_t>(a), wide_b = static_cast<std::uint64_t>(b);  // sign-extended
    return a < b ? wide_b - wide_a : wide_a - wide_b;
  }
}

/// A checked tolerance.
template <class Key>
class tolerance_of {
  using limit_type = std::conditional_t<std::is_floating_point_v<Key>, double, std::uint64_t>;

 public:
  explicit tolerance_of(const std::optional<key_distance>& given) : is_set_(given.has_value()) {
    if (!is_set_) return;
    if (std::isnan(given->real()) || given->real() < 0) {
      throw error("asof_join(): the tolerance is negative or NaN; pass a distance of 0 or more.");
    }
    if constexpr (std::is_floating_point_v<Key>) {
      limit_ = given->real();
    } else {
      if (given->is_real()) throw error("asof_join(): keys are integers; pass the tolerance as an integer.");
      constexpr auto most = std::numeric_limits<std::uint64_t>::max();
      limit_ = given->integer() > static_cast<int128>(most) ? most : static_cast<std::uint64_t>(given->integer());
    }
  }
  [[nodiscard]] bool is_set() const noexcept { return is_set_; }
  [[nodiscard]] limit_type limit() const noexcept { return limit_; }
  [[nodiscard]] bool allows(Key a, Key b) const { return !is_set_ || distance_between(a, b) <= limit_; }

 private:
  limit_type limit_ = 0;
  bool is_set_;
};

/// The type that keys are compared with after a shift: double for f32, so that t + b is not rounded to 24 bits.
template <class Key>
using query_of = std::conditional_t<std::is_same_v<Key, float>, double, Key>;

}  // namespace espalier::join_detail
