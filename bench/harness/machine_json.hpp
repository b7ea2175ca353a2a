// machine_json.hpp - the machine as JSON, the same in result files and in `espalier info`.
#pragma once

#include <nlohmann/json.hpp>

#include "bench/harness/machine.hpp"

namespace espalier::bench {

[[nodiscard]] inline nlohmann::ordered_json machine_json(const machine& m) {
  nlohmann::ordered_json j{{"cpu", m.cpu},       {"architecture", m.architecture},
                           {"cores", m.cores},   {"memory", m.memory},
                           {"simd", m.simd},     {"huge_pages", m.huge_pages},
                           {"system", m.system}, {"gpus", nlohmann::ordered_json::array()}};
  for (const auto& g : m.gpus) {
    j["gpus"].push_back({{"name", g.name},
                         {"memory", g.memory},
                         {"multiprocessors", g.multiprocessors},
                         {"l2", g.l2_bytes},
                         {"compute", g.compute}});
  }
  if (!m.driver.empty()) j["driver"] = m.driver;
  if (!m.cuda_runtime.empty()) j["cuda_runtime"] = m.cuda_runtime;
  if (!m.no_gpu.empty()) j["no_gpu"] = m.no_gpu;
  return j;
}

}  // namespace espalier::bench
