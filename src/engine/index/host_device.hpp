// host_device.hpp - the CPU device on which an index answers the queries that it does not send to a GPU.
#pragma once

#include "espalier/device/device.hpp"

namespace espalier::engine {

[[nodiscard]] inline device host_of(const device& where) {
  return where.kind() == device_kind::cpu ? where : device::cpu();
}

/// The minimum batch size that is worth a kernel launch and two copies on a GPU; smaller batches are faster on the CPU.
inline constexpr std::size_t device_batch = 4096;

}  // namespace espalier::engine
