// system.hpp - what the operating system grants this process: memory, processors, and their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "espalier/device/memory_resource.hpp"

namespace espalier::detail {

/// Memory this process can take before the system starts killing: the smaller of what the machine has
/// available and what the control groups (v1 or v2) leave. `total` likewise.
[[nodiscard]] memory_info system_memory();

/// Anonymous memory of this process that is resident now.
[[nodiscard]] std::size_t resident_anonymous_bytes();

/// A stretch of this process's addresses, and how much of it is on huge pages now.
struct memory_mapping {
  std::uintptr_t first = 0, last = 0;
  std::size_t huge = 0;
};
/// In order of addresses and disjoint, also while other threads map memory; empty where the system does not tell. Takes
/// milliseconds where there are thousands.
[[nodiscard]] std::vector<memory_mapping> memory_mappings();

/// To whom the system gives huge pages unasked, on advice or not at all: "always", "madvise", "never", or "" if it does
/// not tell.
[[nodiscard]] std::string huge_page_policy();

/// Processors this process may use: affinity mask and control-group quota. At least 1.
[[nodiscard]] unsigned usable_processors();

/// The processor's name, such as "AMD EPYC 9654", or "aarch64 CPU" where the system does not tell.
[[nodiscard]] std::string processor_name();

}  // namespace espalier::detail
