// live_tree.cpp - selects the tree for a request.
#include "explorer/live_tree.hpp"

#include <string>
#include <utility>

namespace espalier::explorer {

namespace {

/// The regular layout of a hybrid tree is a B-link tree in host memory with a copy of its express lane on the device
/// (hybrid_tree/blink_host_tree.cpp). This is that tree, as built there for u64.
constexpr unsigned regular_slots = 12;

std::unique_ptr<live_tree> make_regular_layout(const device& dev, live_request request) {
  if (!request.upper.empty() && request.upper != "express")
    throw error("a hybrid tree of the regular layout has upper levels 'express': leave them out.");
  if (request.slots != 0 && request.slots != regular_slots)
    throw error("a hybrid tree of the regular layout has " + std::to_string(regular_slots) + " slots: leave them out.");
  request.upper = "express";
  request.slots = regular_slots;
  return make_live_blink(dev, request);
}

}  // namespace

std::vector<live_choice> live_choices(device_kind dev) {
  const bool cpu = dev == device_kind::cpu;
  const std::vector<unsigned> narrow = cpu ? std::vector<unsigned>{8, 12} : std::vector<unsigned>{12};
  std::vector<live_choice> choices{{"blink", "link", "classic", narrow},
                                   {"blink", "link", "express", {8, 12}},
                                   {"blink", "couple", "classic", narrow}};
  choices.push_back({"radix", "none", "", {256}});
  if (cpu) {
    choices.push_back({"static", "none", "", {4}});
    choices.push_back({"hybrid", "none", "", {4}});
    choices.push_back({"hybrid", "link", "express", {regular_slots}});
  }
  return choices;
}

std::unique_ptr<live_tree> make_live_tree(const device& dev, live_request request) {
  if (request.index == "blink") return make_live_blink(dev, request);
  const bool known = request.index == "radix" || request.index == "static" || request.index == "hybrid";
  if (!known)
    throw error("there is no index '" + request.index.substr(0, 40) + "': choose blink, radix, static or hybrid.");
  if (dev.kind() != device_kind::cpu && request.index != "radix")
    throw error("live trees of the index " + request.index + " are on a CPU: start the explorer with --device cpu.");
  if (request.index == "hybrid" && request.protocol == "link") return make_regular_layout(dev, std::move(request));
  if (!request.protocol.empty() && request.protocol != "none")
    throw error("a " + request.index + " tree has no protocol '" + request.protocol.substr(0, 40) + "': leave it out.");
  return request.index == "radix" ? make_live_radix(dev, request) : make_live_static(dev, request);
}

}  // namespace espalier::explorer
