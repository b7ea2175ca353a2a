// replay_radix.cpp - replays events of radix trees.
//
// The prefix of a node is what its keys share between the byte at which its parent branches and its own: 2 hexadecimal
// digits for each level between the two. So it follows from the levels when nodes are inserted in between or removed.
#include <algorithm>
#include <utility>

#include "espalier/core/error.hpp"
#include "espalier/inspect/replay.hpp"
#include "inspect/replay_events.hpp"

namespace espalier {

using detail::name_of;
using detail::require;

namespace {

std::string hexadecimal(std::uint64_t x, unsigned digits) {
  std::string text(digits, '0');
  for (unsigned i = digits; i-- > 0; x >>= 4) text[i] = "0123456789abcdef"[x & 15];
  return text;
}
std::uint64_t byte_at(const std::string& digits, std::size_t at) {
  std::uint64_t byte = 0;
  for (std::size_t i = at; i < at + 2; ++i) {
    const char c = digits[i];
    byte = byte << 4 | static_cast<std::uint64_t>(c >= 'a' && c <= 'f'   ? c - 'a' + 10
                                                  : c >= '0' && c <= '9' ? c - '0'
                                                                         : 0);
  }
  return byte;
}
std::size_t digits_between(std::uint32_t above, std::uint32_t below) { return 2 * std::size_t{above - below - 1}; }

}  // namespace

void trace_replay::rename(const trace_event& e) {
  const trace_name name = name_of(e), fresh{e.other, name.inner};
  require(state_.find(name) != nullptr && state_.find(fresh) == nullptr, e,
          "is replaced by a node that exists already");
  const auto leads = [&](const auto& other) {
    return std::find(other.second.children.begin(), other.second.children.end(), name) != other.second.children.end();
  };
  const auto above = e.key != 0 ? state_.nodes.find({trace_above::id(e.key), true})
                                : std::find_if(state_.nodes.begin(), state_.nodes.end(), leads);
  require(above != state_.nodes.end() && leads(*above), e, "is about a node that no other one names");
  save(above->first);
  save(name);
  save(fresh);
  std::replace(above->second.children.begin(), above->second.children.end(), name, fresh);
  trace_node_state moved = std::move(state_.nodes.at(name));
  moved.kind = static_cast<trace_node_kind>(e.at & 0xff);
  moved.version = e.other2;
  state_.nodes.erase(name);
  state_.nodes[fresh] = std::move(moved);
}

void trace_replay::new_leaf(const trace_event& e) {
  const trace_name name = name_of(e);
  require(is_radix() && !name.inner && state_.find(name) == nullptr, e, "makes a leaf that exists already");
  trace_node_state leaf;
  leaf.kind = trace_node_kind::leaf;
  leaf.keys = {e.key};
  leaf.prefix = hexadecimal(e.key, 16);
  save(name);
  state_.nodes[name] = std::move(leaf);
}

void trace_replay::post_radix(const trace_event& e) {
  const trace_name name = name_of(e), below{e.other, e.leaf_child == 0};
  trace_node_state &n = node(name), &child = node(below);
  require(n.is_inner() && child.level < n.level, e, "names a child that is not below");
  require(e.at <= n.keys.size(), e, "names a slot beyond the keys in use");
  require(n.keys.size() < room_of(n.kind), e, "finds the node full");
  require((e.at == 0 || n.keys[e.at - 1] < e.key) && (e.at == n.keys.size() || e.key < n.keys[e.at]), e,
          "breaks the order of the keys");
  const std::size_t digits = digits_between(n.level, child.level);
  require(child.prefix.size() >= digits, e, "names a child whose prefix is too short");
  save(name);
  save(below);
  n.keys.insert(n.keys.begin() + e.at, e.key);
  n.children.insert(n.children.begin() + e.at, below);
  child.prefix.erase(0, child.prefix.size() - digits);
}

void trace_replay::branch(const trace_event& e) {
  const trace_name name = name_of(e), fresh{e.other, true}, below{e.other2, e.leaf_child == 0};
  trace_node_state &n = node(name), &child = node(below);
  require(is_radix() && e.at < n.children.size() && n.children[e.at] == below, e,
          "names a child that is not in that slot");
  require(state_.find(fresh) == nullptr, e, "makes a node that exists already");
  require(e.key < n.level && e.key > child.level, e, "makes a node that is not between the two");
  require(child.prefix.size() == digits_between(n.level, child.level), e, "finds a prefix that does not fit");
  trace_node_state made;
  made.level = static_cast<std::uint32_t>(e.key);
  made.kind = trace_node_kind::node4;
  const std::size_t digits = digits_between(n.level, made.level);
  made.prefix = child.prefix.substr(0, digits);
  made.keys = {byte_at(child.prefix, digits)};
  made.children = {below};
  save(name);
  save(below);
  save(fresh);
  child.prefix.erase(0, digits + 2);
  n.children[e.at] = fresh;
  state_.nodes[fresh] = std::move(made);
}

void trace_replay::drop(const trace_event& e) {
  const trace_name name = name_of(e), below{e.other, false};
  trace_node_state& n = node(name);
  require(is_radix() && e.at < n.children.size() && n.keys[e.at] == e.key && n.children[e.at] == below, e,
          "names a leaf that is not in that slot");
  save(name);
  save(below);
  n.keys.erase(n.keys.begin() + e.at);
  n.children.erase(n.children.begin() + e.at);
  state_.nodes.erase(below);
}

void trace_replay::join(const trace_event& e) {
  const trace_name name = name_of(e), gone{e.other, true}, below{e.other2, e.leaf_child == 0};
  trace_node_state &n = node(name), &left = node(gone), &child = node(below);
  require(is_radix() && e.at < n.children.size() && n.children[e.at] == gone, e,
          "names a node that is not in that slot");
  require(left.children.size() == 1 && left.children[0] == below, e, "names a node with other children");
  save(name);
  save(gone);
  save(below);
  child.prefix = left.prefix + hexadecimal(left.keys[0], 2) + child.prefix;
  n.children[e.at] = below;
  state_.nodes.erase(gone);
}

}  // namespace espalier
