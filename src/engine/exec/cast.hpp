// cast.hpp - conversions between types as SQL has them: numbers are rounded, what does not fit is an error.
#pragma once

#include "engine/types.hpp"

namespace arrow {
struct Datum;
}

namespace espalier::engine {

/// `from` and `to` are the types of the datum and of the answer.
[[nodiscard]] arrow::Datum cast(const arrow::Datum& value, const column_type& from, const column_type& to,
                                int position);
/// Is there a conversion at all?
[[nodiscard]] bool can_cast(const column_type& from, const column_type& to);

}  // namespace espalier::engine
