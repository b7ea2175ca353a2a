// system.hpp - resources that the operating system grants this process: memory, processors, and their names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "espalier/device/memory_resource.hpp"

namespace espalier::detail {

/// Memory that this process can allocate before the OOM killer intervenes: the minimum of what the machine has
/// available and what the control groups (v1 or v2) leave. `total` is limited in the same way.
[[nodiscard]] memory_info system_memory();

/// Resident anonymous memory of this process.
[[nodiscard]] std::size_t resident_anonymous_bytes();

/// A mapping of this process, and the part of it that is on huge pages.
struct memory_mapping {
  std::uintptr_t first = 0, last = 0;
  std::size_t huge = 0;
};
/// All mappings by ascending address and disjoint, even while other threads map memory; empty if the system does not
/// report them. Takes milliseconds for thousands of mappings.
[[nodiscard]] std::vector<memory_mapping> memory_mappings();

/// The system's policy for transparent huge pages: "always", "madvise", "never", or "" if unknown.
[[nodiscard]] std::string huge_page_policy();

/// Number of processors that this process may use, from the affinity mask and the control-group quota. At least 1.
[[nodiscard]] unsigned usable_processors();

/// Name of the processor, such as "AMD EPYC 9654", or "aarch64 CPU" if the system does not report it.
[[nodiscard]] std::string processor_name();

}  // namespace espalier::detail
