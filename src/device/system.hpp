// system.hpp - what the operating system grants this process: memory, processors, and their names.
#pragma once

#include <cstddef>
#include <string>

#include "espalier/device/memory_pool.hpp"

namespace espalier::detail {

/// Memory this process can take before the system starts killing: the smaller of what the machine has
/// available and what the control groups (v1 or v2) leave. `total` likewise.
[[nodiscard]] memory_info system_memory();

/// Anonymous memory of this process that is resident now.
[[nodiscard]] std::size_t resident_anonymous_bytes();

/// Processors this process may use: affinity mask and control-group quota. At least 1.
[[nodiscard]] unsigned usable_processors();

/// The processor's name, such as "AMD EPYC 9654", or "aarch64 CPU" where the system does not tell.
[[nodiscard]] std::string processor_name();

}  // namespace espalier::detail
