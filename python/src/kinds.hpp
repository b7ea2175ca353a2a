// kinds.hpp - loops over values whose type is known at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/core/error.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::python {

/// Calls f(T{}) with the type of the kind.
template <class F>
decltype(auto) visit_kind(scalar_kind kind, F&& f) {
  switch (kind) {
    case scalar_kind::u8:
      return f(std::uint8_t{});
    case scalar_kind::i8:
      return f(std::int8_t{});
    case scalar_kind::u16:
      return f(std::uint16_t{});
    case scalar_kind::i16:
      return f(std::int16_t{});
    case scalar_kind::u32:
      return f(std::uint32_t{});
    case scalar_kind::i32:
      return f(std::int32_t{});
    case scalar_kind::f32:
      return f(float{});
    case scalar_kind::u64:
      return f(std::uint64_t{});
    case scalar_kind::i64:
      return f(std::int64_t{});
    case scalar_kind::f64:
      return f(double{});
    case scalar_kind::opaque:
      break;
  }
  throw error("values of this type are not numbers.");
}

/// A copy with 0.0 for each -0.0, or null if there is none. The library orders -0.0 before 0.0, Python takes them as
/// equal.
[[nodiscard]] std::unique_ptr<unsigned char[]> without_negative_zeros(scalar_kind kind, const void* data,
                                                                      std::size_t n);

}  // namespace espalier::python
