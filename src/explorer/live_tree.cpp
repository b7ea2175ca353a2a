// live_tree.cpp - which tree serves a request.
#include "explorer/live_tree.hpp"

namespace espalier::explorer {

std::vector<live_choice> live_choices(device_kind where) {
  const std::vector<unsigned> narrow =
      where == device_kind::cpu ? std::vector<unsigned>{8, 12} : std::vector<unsigned>{12};
  return {{"blink", "link", "classic", narrow},
          {"blink", "link", "express", {8, 12}},
          {"blink", "couple", "classic", narrow}};
}

std::unique_ptr<live_tree> make_live_tree(const device& where, live_request request) {
  if (request.index == "blink") return make_live_blink(where, request);
  throw error("there is no index '" + request.index + "' to be traced: choose blink.");
}

}  // namespace espalier::explorer
