// stream_dependencies.cpp - see stream_dependencies.hpp.
#include "device/stream_dependencies.hpp"

#include <algorithm>

#include "device/device_impl.hpp"

namespace espalier::detail {

bool stream_dependencies::is_over(const stream_at& at) {
  return at.mark.state() == nullptr || at.mark.state()->is_reached();
}

void stream_dependencies::follow(const stream& order, std::uint64_t id, const stream_at& other) {
  // Unconditional: a host that saw the mark reached does not order the stream after it (compute-sanitizer
  // --track-stream-ordered-races), and a wait for a reached mark costs almost nothing.
  if (other.id != id && other.mark.state() != nullptr) order.wait_for(other.mark);
}

stream_dependencies::turn stream_dependencies::begin(const stream& order, bool writes) {
  const std::uint64_t id = order.state()->id();
  const std::lock_guard lock(mutex_);
  follow(order, id, write_);
  if (writes) {
    for (const stream_at& read : reads_) follow(order, id, read);
    // The next stream waits for this turn, and thereby for what this turn waits for.
    reads_.clear();
  }
  return {this, order, id, writes};
}

void stream_dependencies::wait_for_all(const stream& order) {
  const std::uint64_t id = order.state()->id();
  const std::lock_guard lock(mutex_);
  follow(order, id, write_);
  for (const stream_at& read : reads_) follow(order, id, read);
}

std::size_t stream_dependencies::kept() const {
  const std::lock_guard lock(mutex_);
  return reads_.size() + (write_.mark.state() == nullptr ? 0 : 1);
}

// If there is no memory for a mark, the host waits instead: then there is nothing to remember.
void stream_dependencies::end(const stream& order, std::uint64_t id, bool writes) noexcept {
  try {
    const std::lock_guard lock(mutex_);  // two threads may use one stream: the later mark is kept
    stream_at at{id, order.mark()};
    if (writes) {
      write_ = std::move(at);
    } else {
      keep(std::move(at));
    }
    return;
  } catch (...) {
  }
  try {
    order.synchronize();
  } catch (...) {  // the device has failed: the next call reports it
  }
}

void stream_dependencies::keep(stream_at&& read) {
  const auto own = std::find_if(reads_.begin(), reads_.end(), [&](const stream_at& r) { return r.id == read.id; });
  if (own != reads_.end()) {
    own->mark = std::move(read.mark);
    return;
  }
  if (reads_.size() >= swept_) {
    std::erase_if(reads_, is_over);
    swept_ = std::max<std::size_t>(8, 2 * reads_.size());
  }
  reads_.push_back(std::move(read));
}

}  // namespace espalier::detail
