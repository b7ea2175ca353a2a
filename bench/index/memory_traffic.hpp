// memory_traffic.hpp - the minimum memory traffic of an operation, to compute its share of the copy bandwidth.
#pragma once

#include <optional>

#include "bench/harness/cli_names.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

/// `leaf_bytes` is the size of all leaves with their keys and values.
[[nodiscard]] std::optional<double> least_memory_traffic(operation op, const row& r, scalar_kind key, scalar_kind value,
                                                         std::size_t leaf_bytes);

}  // namespace espalier::bench
