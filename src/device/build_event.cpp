// build_event.cpp - see build_event.hpp.
#include "device/build_event.hpp"

#include <algorithm>
#include <new>

#include "device/device_impl.hpp"

namespace espalier::detail {

void build_event::record(const stream& order) {
  built_on_ = order.state()->id();
  count_ = 0;
  try {
    built_ = order.mark();
  } catch (const std::bad_alloc&) {
    built_ = {};
    order.synchronize();
  }
}

void build_event::make_wait(const stream& order) const {
  if (built_.state() == nullptr) return;
  const std::uint64_t id = order.state()->id();
  if (id == built_on_) return;
  const std::lock_guard lock(mutex_);
  const auto* const end = ordered_.data() + std::min(count_, most_remembered);
  if (std::find(static_cast<const std::uint64_t*>(ordered_.data()), end, id) != end) return;
  order.wait_for(built_);
  ordered_[count_++ % most_remembered] = id;
}

}  // namespace espalier::detail
