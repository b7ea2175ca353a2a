// options.cpp - names of the options.
#include "espalier/hybrid_tree/options.hpp"

namespace espalier {

std::string to_string(hybrid_layout l) { return l == hybrid_layout::implicit ? "implicit" : "regular"; }
std::string to_string(hybrid_placement p) {
  switch (p) {
    case hybrid_placement::automatic:
      return "automatic";
    case hybrid_placement::host_alone:
      return "host_alone";
    case hybrid_placement::shared:
      return "shared";
    case hybrid_placement::device_alone:
      return "device_alone";
    case hybrid_placement::both:
      return "both";
  }
  return "unknown";
}
std::string to_string(update_mode w) {
  return w == update_mode::automatic ? "automatic" : w == update_mode::asynchronous ? "asynchronous" : "synchronised";
}
std::string to_string(page_configuration p) {
  return p == page_configuration::huge ? "huge" : p == page_configuration::huge_inner ? "huge_inner" : "small";
}
std::string to_string(host_copies c) { return c == host_copies::automatic ? "automatic" : "staged"; }

}  // namespace espalier
