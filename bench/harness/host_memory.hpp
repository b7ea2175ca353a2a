// host_memory.hpp - memory of a caller on the host: page-locked where the device is a GPU, so that copies to and from
// it run beside kernels and beside the caller; from ordinary memory they would make the caller wait.
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
