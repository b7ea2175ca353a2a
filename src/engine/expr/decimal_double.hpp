// decimal_double.hpp - converts numeric to binary floating point, correctly rounded: 0.3 becomes the double nearest to
// 0.3.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>

namespace arrow {
class Decimal128;
}

namespace espalier::engine {

/// Returns unscaled / 10^scale, rounded once to nearest even. Float is float or double.
template <class Float>
[[nodiscard]] Float nearest_float(const arrow::Decimal128& unscaled, int scale);

/// Converts a decimal128 array or scalar to `type`, which is float32 or float64.
[[nodiscard]] arrow::Datum decimals_as_floats(const arrow::Datum& decimals,
                                              const std::shared_ptr<arrow::DataType>& type);

/// Returns sum / 10^scale / count. It is rounded once if both sides of the division are below 2^53.
[[nodiscard]] double decimal_average(const arrow::Decimal128& sum, int scale, std::int64_t count);

}  // namespace espalier::engine
