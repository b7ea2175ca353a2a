// cast.hpp - conversions between SQL types. Numbers are rounded, and a value that does not fit is an error.
#pragma once

#include "engine/types.hpp"

namespace arrow {
struct Datum;
}

namespace espalier::engine {

/// `from` is the type of the datum, `to` the type of the result.
[[nodiscard]] arrow::Datum cast(const arrow::Datum& value, const column_type& from, const column_type& to,
                                int position);
/// Returns whether a conversion exists.
[[nodiscard]] bool can_cast(const column_type& from, const column_type& to);

}  // namespace espalier::engine
