// host_memory.hpp - host memory for the segments of a hybrid tree, leaves and inner levels, with the requested pages.
#pragma once

#include <memory>

#include "device/tracking_resource.hpp"
#include "espalier/device/device.hpp"
#include "espalier/hybrid_tree/options.hpp"

namespace espalier::detail {

class host_segment_memory {
 public:
  host_segment_memory(const device& host, page_configuration pages);
  /// The host device with this memory.
  [[nodiscard]] const device& host() const { return host_; }
  /// The requested pages, and what the system has provided so far.
  [[nodiscard]] hybrid_pages given() const;

 private:
  page_configuration asked_;
  std::shared_ptr<tracking_resource> pool_;
  device host_;
};

}  // namespace espalier::detail
