// decimal_double.hpp - numeric as a binary floating-point number, correctly rounded: 0.3 is the double nearest to 0.3.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>

namespace arrow {
class Decimal128;
}

namespace espalier::engine {

/// unscaled / 10^scale, rounded once, to nearest even. Float: float or double.
template <class Float>
[[nodiscard]] Float nearest_float(const arrow::Decimal128& unscaled, int scale);

/// A decimal128 array or scalar as `type`, float32 or float64.
[[nodiscard]] arrow::Datum decimals_as_floats(const arrow::Datum& decimals,
                                              const std::shared_ptr<arrow::DataType>& type);

/// sum / 10^scale / count. Rounded once where both sides of the division are below 2^53.
[[nodiscard]] double decimal_average(const arrow::Decimal128& sum, int scale, std::int64_t count);

}  // namespace espalier::engine
