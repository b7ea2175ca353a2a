// host_memory.cpp - see host_memory.hpp.
#include "hybrid_tree/host_memory.hpp"

#include "device/cpu_pool.hpp"
#include "device/system.hpp"

namespace espalier {

std::string to_string(page_configuration p) {
  return p == page_configuration::huge ? "huge" : p == page_configuration::huge_inner ? "huge_inner" : "small";
}

namespace detail {
namespace {

std::shared_ptr<tracking_resource> make_pool(const device& host, page_configuration pages) {
  const std::shared_ptr<memory_resource>& huge = host.pool();
  if (pages == page_configuration::huge) return std::make_shared<tracking_resource>(huge, huge);
  const auto small = std::make_shared<cpu_pool>(host.name(), page_kind::small);
  return pages == page_configuration::small ? std::make_shared<tracking_resource>(small, small)
                                            : std::make_shared<tracking_resource>(small, huge);
}

}  // namespace

host_segment_memory::host_segment_memory(const device& host, page_configuration pages)
    : asked_(pages), pool_(make_pool(host, pages)), host_(host.with_pool(pool_)) {}

hybrid_pages host_segment_memory::given() const {
  const tracking_resource::page_usage seen = pool_->count();
  hybrid_pages pages{asked_, seen.others.bytes, seen.others.huge, seen.leaves.bytes, seen.leaves.huge, {}};
  const std::string policy = huge_page_policy();
  if (asked_ != page_configuration::small && policy != "always" && policy != "madvise")
    pages.reason =
        "the system gives no huge pages (transparent_hugepage/enabled: " + (policy.empty() ? "not there" : policy) +
        "), so all are small.";
  return pages;
}

}  // namespace detail
}  // namespace espalier
