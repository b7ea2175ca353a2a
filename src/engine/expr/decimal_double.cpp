#include "engine/expr/decimal_double.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "engine/expr/sql_arrow_status.hpp"
#include "espalier/core/config.hpp"
#include "espalier/core/error.hpp"

namespace espalier::engine {
namespace {

// The powers 10^0, 10^1, ... that the type represents exactly.
template <class Float>
constexpr std::size_t exact_powers = std::numeric_limits<Float>::digits == 53 ? 23 : 11;

template <class Float>
constexpr std::array<Float, exact_powers<Float>> powers_of_ten = [] {
  std::array<Float, exact_powers<Float>> out{};
  Float power = 1;
  for (auto& entry : out) {
    entry = power;
    power *= 10;
  }
  return out;
}();

// Converts through decimal text, which std::from_chars rounds correctly.
template <class Float>
Float from_text(const arrow::Decimal128& unscaled, int scale) {
  const std::string text = unscaled.ToIntegerString() + "e" + std::to_string(-scale);
  Float out = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  // 38 digits are within the range of double and float; only small fractions may underflow.
  if (problem == std::errc::result_out_of_range) return unscaled.IsNegative() ? -Float{0} : Float{0};
  if (problem != std::errc()) throw error("cast: '" + text + "' could not be read as a number; please report it.");
  return out;
}

template <class Float, class Builder, class Scalar>
arrow::Datum converted(const arrow::Datum& decimals) {
  const int scale = static_cast<const arrow::Decimal128Type&>(*decimals.type()).scale();
  if (decimals.is_scalar()) {
    if (!decimals.scalar()->is_valid) return arrow::MakeNullScalar(arrow::CTypeTraits<Float>::type_singleton());
    const auto& value = decimals.scalar_as<arrow::Decimal128Scalar>().value;
    return arrow::Datum(std::make_shared<Scalar>(nearest_float<Float>(value, scale)));
  }
  const auto array = decimals.make_array();
  const auto& values = static_cast<const arrow::Decimal128Array&>(*array);
  Builder builder;
  check(builder.Reserve(values.length()));
  for (std::int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i)) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(nearest_float<Float>(arrow::Decimal128(values.GetValue(i)), scale));
    }
  }
  return value_of(builder.Finish());
}

}  // namespace

// A division of two exact operands rounds once; other values are converted through text.
template <class Float>
Float nearest_float(const arrow::Decimal128& unscaled, int scale) {
  constexpr std::int64_t exact = std::int64_t{1} << std::numeric_limits<Float>::digits;
  const auto low = static_cast<std::int64_t>(unscaled.low_bits());
  const bool fits = unscaled.high_bits() == (low < 0 ? -1 : 0) && low >= -exact && low <= exact;
  if (fits && static_cast<std::size_t>(scale) < exact_powers<Float>) {
    return static_cast<Float>(low) / powers_of_ten<Float>[static_cast<std::size_t>(scale)];
  }
  return from_text<Float>(unscaled, scale);
}

template float nearest_float<float>(const arrow::Decimal128&, int);
template double nearest_float<double>(const arrow::Decimal128&, int);

arrow::Datum decimals_as_floats(const arrow::Datum& decimals, const std::shared_ptr<arrow::DataType>& type) {
  return type->id() == arrow::Type::FLOAT ? converted<float, arrow::FloatBuilder, arrow::FloatScalar>(decimals)
                                          : converted<double, arrow::DoubleBuilder, arrow::DoubleScalar>(decimals);
}

double decimal_average(const arrow::Decimal128& unscaled, int scale, std::int64_t count) {
  constexpr int128 exact = int128{1} << 53;
  const auto sum = static_cast<int128>(static_cast<uint128>(static_cast<std::uint64_t>(unscaled.high_bits())) << 64 |
                                       unscaled.low_bits());
  int128 divisor = count;
  for (int i = 0; i < scale && divisor <= exact; ++i) divisor *= 10;
  if (sum >= -exact && sum <= exact && divisor <= exact) {
    return static_cast<double>(sum) / static_cast<double>(divisor);
  }
  return static_cast<double>(static_cast<long double>(sum) /
                             (static_cast<long double>(count) * std::pow(10.0L, static_cast<long double>(scale))));
}

}  // namespace espalier::engine
