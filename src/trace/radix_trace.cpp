// radix_trace.cpp - see radix_trace.hpp.
#include "espalier/trace/radix_trace.hpp"

namespace espalier::detail {

trace_header radix_trace_header(const radix_index& tree) {
  trace_header header;
  header.index = "radix";
  header.protocol = "none";
  header.slots = 256;
  header.device = tree.get_device().kind() == device_kind::cpu ? "cpu" : "gpu";
  header.team = "thread";  // on a GPU one per key, as for the library's own writes
  return header;
}

}  // namespace espalier::detail
