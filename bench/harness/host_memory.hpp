// host_memory.hpp - host memory of a caller. It is page-locked if the device is a GPU, so that copies overlap with
// kernels and with the caller; copies from pageable memory would block the caller.
#pragma once

#include <cstddef>
#include <memory>

#include "espalier/device/device.hpp"

namespace espalier::bench {

class host_memory {
 public:
  host_memory() = default;
  host_memory(std::size_t bytes, const device& dev);

  [[nodiscard]] void* data() const { return data_.get(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

 private:
  std::unique_ptr<void, void (*)(void*)> data_{nullptr, nullptr};
  std::size_t bytes_ = 0;
};

}  // namespace espalier::bench
