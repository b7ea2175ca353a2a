// recorder.cpp - see recorder.hpp.
#include "espalier/inspect/recorder.hpp"

#include <algorithm>

namespace espalier {

trace_recorder::trace_recorder(const device& dev, std::uint64_t capacity)
    : device_(dev), events_(dev, capacity), next_(dev, 1) {
  const stream order = device_.default_stream();
  device_.fill(next_.data(), 0, sizeof(std::uint64_t), order);
  order.synchronize();
}

event_log trace_recorder::ring() const { return {events_.data(), events_.size(), next_.data()}; }

std::vector<trace_event> trace_recorder::take() {
  const stream order = device_.default_stream();
  std::uint64_t asked = 0;
  device_.copy(&asked, next_.data(), sizeof(asked), order);
  order.synchronize();
  if (lost_ != 0) {  // events recorded before the loss have been taken already
    lost_ = asked - events_.size();
    return {};
  }
  std::vector<trace_event> taken(std::min<std::uint64_t>(asked, events_.size()));
  if (!taken.empty()) device_.copy(taken.data(), events_.data(), taken.size() * sizeof(trace_event), order);
  if (asked > events_.size()) {
    lost_ = asked - events_.size();  // the counter stays beyond the end: all later events are lost
  } else {
    device_.fill(next_.data(), 0, sizeof(std::uint64_t), order);
  }
  order.synchronize();
  return taken;
}

}  // namespace espalier
