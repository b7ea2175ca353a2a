// memory_traffic.hpp - the least memory traffic an operation can do with, for its share of the copy bandwidth.
#pragma once

#include <optional>

#include "bench/harness/cli_names.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

/// `leaf_bytes`: all leaves with their keys and values.
[[nodiscard]] std::optional<double> least_memory_traffic(operation op, const row& r, scalar_kind key, scalar_kind value,
                                                         std::size_t leaf_bytes);

}  // namespace espalier::bench
