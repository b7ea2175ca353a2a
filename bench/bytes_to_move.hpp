// bytes_to_move.hpp - the least memory traffic an operation can do with, for its share of the copy bandwidth.
#pragma once

#include <optional>

#include "bench/names.hpp"
#include "bench/row.hpp"

namespace espalier::bench {

/// `leaf_bytes`: all leaves with their keys and values.
[[nodiscard]] std::optional<double> bytes_to_move(operation op, const row& r, scalar_kind key, scalar_kind value,
                                                  std::size_t leaf_bytes);

}  // namespace espalier::bench
