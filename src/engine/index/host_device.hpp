// host_device.hpp - where an index answers what it does not send to a GPU.
#pragma once

#include "espalier/device/device.hpp"

namespace espalier::engine {

[[nodiscard]] inline device host_of(const device& where) {
  return where.kind() == device_kind::cpu ? where : device::cpu();
}

/// Batches of this many questions are worth a launch and two copies on a GPU; smaller ones the CPU answers sooner.
inline constexpr std::size_t device_batch = 4096;

}  // namespace espalier::engine
