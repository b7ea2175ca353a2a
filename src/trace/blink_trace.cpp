// blink_trace.cpp - see blink_trace.hpp.
#include "espalier/trace/blink_trace.hpp"

namespace espalier::detail {

trace_header blink_trace_header(const blink_index& tree) {
  const blink_shape shape = tree.shape();
  trace_header header;
  header.index = "blink";
  header.protocol = to_string(shape.protocol);
  header.upper = to_string(shape.inner);
  header.slots = shape.slots;
  header.device = tree.get_device().kind() == device_kind::cpu ? "cpu" : "gpu";
  header.team = tree.get_device().kind() == device_kind::cpu ? "thread" : "tile";
  return header;
}

}  // namespace espalier::detail
