// machine.hpp - properties of this machine and this build, for result files and `espalier info`.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "espalier/device/device.hpp"

namespace espalier::bench {

struct gpu_facts {
  std::string name;
  std::size_t memory = 0;
  int multiprocessors = 0;
  std::size_t l2_bytes = 0;
  std::string compute;  ///< compute capability, "9.0"
};

struct machine {
  std::string cpu;
  std::string architecture;
  unsigned cores = 0;
  std::size_t memory = 0;
  std::string simd;
  std::string huge_pages;
  std::string system;
  std::vector<gpu_facts> gpus;
  std::string driver;  ///< CUDA version that the driver supports; empty without a GPU
  std::string no_gpu;  ///< why there is no GPU; empty if there is one
  std::string compiler;
  std::string cuda_runtime;  ///< empty without CUDA support
  std::string version;
  std::string commit;
};

[[nodiscard]] machine describe_machine();
/// Returns the bytes read and written per second by a large copy within the device's memory.
[[nodiscard]] double measure_copy_bandwidth(const device& dev, unsigned repeat);
/// Returns a time in the format 2026-01-31T12:00:00Z.
[[nodiscard]] std::string utc_now();

#ifdef ESPALIER_HAS_CUDA
// gpu_facts.cu
void describe_gpus(machine& into);
[[nodiscard]] double gpu_copy_bandwidth(int ordinal);
#endif

}  // namespace espalier::bench
