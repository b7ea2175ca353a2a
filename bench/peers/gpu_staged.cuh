// gpu_staged.cuh - batches of a caller in the GPU's memory, for peers. Those in host memory are copied in stream order,
// as in the library.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/device/buffer.hpp"
#include "espalier/radix_tree/index.hpp"

namespace espalier::bench {

/// The batch is used in place if the GPU can read it.
class staged {
 public:
  staged(const device& dev, const stream& order, const void* p, std::size_t bytes)
      : device_(dev), order_(order), own_(const_cast<void*>(p)), bytes_(bytes) {
    if (p != nullptr && bytes != 0 && !dev.is_local(p)) copy_ = raw_buffer(dev, bytes, order);
  }
  [[nodiscard]] bool is_copy() const { return copy_.data() != nullptr; }
  [[nodiscard]] void* data() const { return is_copy() ? copy_.data() : own_; }
  void bring() const {
    if (is_copy()) device_.copy(copy_.data(), own_, bytes_, order_);
  }
  void copy_back() const {
    if (is_copy()) device_.copy(own_, copy_.data(), bytes_, order_);
  }

 private:
  const device& device_;
  const stream& order_;
  void* own_;
  std::size_t bytes_;
  raw_buffer copy_;
};

class staged_strings {
 public:
  staged_strings(const device& dev, const stream& order, const espalier::detail::byte_keys& keys)
      : bytes_(dev, order, keys.batch.bytes, keys.bytes),
        offsets_(dev, order, keys.batch.offsets, keys.batch.offsets == nullptr ? 0 : (keys.n + 1) * 8),
        stride_(keys.batch.stride) {
    bytes_.bring();
    offsets_.bring();
  }
  [[nodiscard]] byte_batch batch() const {
    return {static_cast<const std::uint8_t*>(bytes_.data()), static_cast<const std::uint64_t*>(offsets_.data()),
            stride_};
  }

 private:
  staged bytes_, offsets_;
  std::uint64_t stride_;
};

}  // namespace espalier::bench
