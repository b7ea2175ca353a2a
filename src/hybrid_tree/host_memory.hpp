// host_memory.hpp - host memory for the segments of a hybrid tree, leaves and inner levels, with the requested pages.
#pragma once

#include <memory>
#include <string>

#include "device/cpu_pool.hpp"
#include "device/system.hpp"
#include "device/tracking_resource.hpp"
#include "espalier/device/device.hpp"
#include "espalier/hybrid_tree/options.hpp"

namespace espalier::detail {

class host_segment_memory {
 public:
  host_segment_memory(const device& host, page_configuration pages)
      : asked_(pages), pool_(make_pool(host, pages)), host_(host.with_pool(pool_)) {}
  /// The host device with this memory.
  [[nodiscard]] const device& host() const { return host_; }
  /// The requested pages, and what the system has provided so far.
  [[nodiscard]] hybrid_pages given() const {
    const tracking_resource::page_usage seen = pool_->count();
    hybrid_pages pages{asked_, seen.others.bytes, seen.others.huge, seen.leaves.bytes, seen.leaves.huge, {}};
    const std::string policy = huge_page_policy();
    if (asked_ != page_configuration::small && policy != "always" && policy != "madvise")
      pages.reason = "the system gives no huge pages (transparent_hugepage/enabled: " +
                     (policy.empty() ? "no such file" : policy) + "), so all are small.";
    return pages;
  }

 private:
  [[nodiscard]] static std::shared_ptr<tracking_resource> make_pool(const device& host, page_configuration pages) {
    const std::shared_ptr<memory_resource>& huge = host.pool();
    if (pages == page_configuration::huge) return std::make_shared<tracking_resource>(huge, huge);
    const auto small = std::make_shared<cpu_pool>(host.name(), page_kind::small);
    return pages == page_configuration::small ? std::make_shared<tracking_resource>(small, small)
                                              : std::make_shared<tracking_resource>(small, huge);
  }

  page_configuration asked_;
  std::shared_ptr<tracking_resource> pool_;
  device host_;
};

}  // namespace espalier::detail
