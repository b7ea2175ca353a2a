// device_array.hpp - queries and results in the memory from which the index is called: host memory for a CPU; for a GPU
// copies in its own memory, or in host memory if requested, made before any timing.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/data/column.hpp"
#include "bench/harness/cli_names.hpp"
#include "bench/harness/host_memory.hpp"
#include "espalier/device/buffer.hpp"

namespace espalier::bench {

/// A column that the device can read.
class device_column {
 public:
  device_column() = default;
  device_column(const column& host, const device& dev, location place = location::device)
      : device_column(host.data(), host.byte_count(), dev, place) {}
  device_column(const void* host, std::size_t bytes, const device& dev, location place = location::device)
      : data_(host) {
    if (dev.kind() == device_kind::cpu || bytes == 0) return;
    if (place == location::host) {
      host_copy_ = host_memory(bytes, dev);
      std::memcpy(host_copy_.data(), host, bytes);
      data_ = host_copy_.data();
      return;
    }
    copy_ = raw_buffer(dev, bytes, {});
    dev.copy(copy_.data(), host, bytes, copy_.order());
    copy_.order().synchronize();
    data_ = copy_.data();
  }
  [[nodiscard]] const void* data() const { return data_; }

 private:
  const void* data_ = nullptr;
  raw_buffer copy_;
  host_memory host_copy_;
};

/// Columns that the device can write.
class device_answers {
 public:
  device_answers(answers host, const device& dev, location place = location::device)
      : host_(std::move(host)), device_(dev) {
    if (dev.kind() == device_kind::cpu) return;
    for (const auto& c : host_) {
      if (place == location::host) {
        on_host_.emplace_back(c.byte_count(), dev);
      } else {
        on_device_.emplace_back(dev, c.byte_count(), stream{});
      }
    }
  }

  [[nodiscard]] std::array<void*, 3> pointers() const {
    std::array<void*, 3> out{};
    for (std::size_t i = 0; i < host_.size(); ++i) {
      out[i] = !on_device_.empty() ? on_device_[i].data() : !on_host_.empty() ? on_host_[i].data() : host_[i].data();
    }
    return out;
  }
  /// Fills the columns with bytes that no correct result has, so that missing results are detected.
  void poison() const {
    for (const auto& c : host_) c.poison();
    for (const auto& b : on_host_) {
      if (b.bytes() != 0) std::memset(b.data(), 0xa5, b.bytes());
    }
    for (const auto& b : on_device_) {
      if (b.bytes() != 0) device_.fill(b.data(), 0xa5, b.bytes(), b.order());
    }
    device_.default_stream().synchronize();
  }
  /// Replaces column `i`, for inputs that are stored with the outputs.
  void put(std::size_t i, const column& from) const {
    std::memcpy(host_[i].data(), from.data(), host_[i].byte_count());
    if (!on_device_.empty()) device_.copy(on_device_[i].data(), host_[i].data(), host_[i].byte_count(), {});
    device_.default_stream().synchronize();
  }
  /// Returns the results in host memory.
  [[nodiscard]] const answers& fetch() const {
    for (std::size_t i = 0; i < on_device_.size(); ++i) {
      const auto& b = on_device_[i];
      if (b.bytes() != 0) device_.copy(host_[i].data(), b.data(), b.bytes(), b.order());
    }
    device_.default_stream().synchronize();
    for (std::size_t i = 0; i < on_host_.size(); ++i) {
      if (on_host_[i].bytes() != 0) std::memcpy(host_[i].data(), on_host_[i].data(), on_host_[i].bytes());
    }
    return host_;
  }

 private:
  answers host_;
  device device_;
  std::vector<raw_buffer> on_device_;
  std::vector<host_memory> on_host_;
};

}  // namespace espalier::bench
