// live_tree.cpp - which tree serves a request.
#include "explorer/live_tree.hpp"

namespace espalier::explorer {

std::vector<live_choice> live_choices(device_kind where) {
  const bool cpu = where == device_kind::cpu;
  const std::vector<unsigned> narrow = cpu ? std::vector<unsigned>{8, 12} : std::vector<unsigned>{12};
  std::vector<live_choice> choices{{"blink", "link", "classic", narrow},
                                   {"blink", "link", "express", {8, 12}},
                                   {"blink", "couple", "classic", narrow}};
  choices.push_back({"radix", "none", "", {256}});
  if (cpu) {
    choices.push_back({"static", "none", "", {4}});
    choices.push_back({"hybrid", "none", "", {4}});
  }
  return choices;
}

std::unique_ptr<live_tree> make_live_tree(const device& where, live_request request) {
  if (request.index == "blink") return make_live_blink(where, request);
  const bool known = request.index == "radix" || request.index == "static" || request.index == "hybrid";
  if (!known)
    throw error("there is no index '" + request.index.substr(0, 40) + "': choose blink, radix, static or hybrid.");
  if (where.kind() != device_kind::cpu && request.index != "radix")
    throw error("live trees of the index " + request.index + " are on a CPU: start the explorer with --device cpu.");
  if (!request.protocol.empty() && request.protocol != "none")
    throw error("a " + request.index + " tree has no protocol '" + request.protocol.substr(0, 40) + "': leave it out.");
  return request.index == "radix" ? make_live_radix(where, request) : make_live_static(where, request);
}

}  // namespace espalier::explorer
