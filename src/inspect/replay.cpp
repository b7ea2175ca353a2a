// replay.cpp - applies events to plain data, and undoes them.
//
// An event is checked before it changes anything. What cannot be computed from the tree after it is saved: whole nodes
// for splits, links, growth and merges, which are rare; versions for unlatches; nothing for slots.
#include "espalier/inspect/replay.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "espalier/core/error.hpp"
#include "inspect/replay_events.hpp"

namespace espalier {

using detail::name_of;
using detail::require;

trace_node_state& trace_replay::node(trace_name n) {
  const auto at = state_.nodes.find(n);
  if (at == state_.nodes.end()) throw error("there is no node " + n.text() + " at this moment.");
  return at->second;
}

void trace_replay::save(trace_name n) {
  const trace_node_state* known = state_.find(n);
  saved_.push_back({n, known != nullptr, known != nullptr ? *known : trace_node_state{}});
}

void trace_replay::restore(std::size_t count) {
  for (; count != 0; --count) {
    saved& last = saved_.back();
    if (last.existed) {
      state_.nodes[last.name] = std::move(last.node);
    } else {
      state_.nodes.erase(last.name);
    }
    saved_.pop_back();
  }
}

void trace_replay::met(const trace_event& e) const {
  // A writer of a radix tree, or a stale cell of its root table, may lead to a node that is replaced concurrently.
  if (is_radix() || state_.find(name_of(e)) != nullptr) return;
  throw error("there is no node " + name_of(e).text() + " at this moment.");
}

void trace_replay::put_slot(const trace_event& e) {
  if (is_radix() && e.kind == trace_kind::post) return post_radix(e);
  trace_node_state& n = node(name_of(e));
  const bool posts = e.kind == trace_kind::post;
  require(posts == n.is_inner(), e, posts ? "posts a child to a leaf" : "puts an element into an inner node");
  require(e.at <= n.keys.size(), e, "names a slot beyond the keys in use");
  require(n.keys.size() < trace_.header.slots, e, "finds the node full");
  require((e.at == 0 || n.keys[e.at - 1] < e.key) && (e.at == n.keys.size() || e.key < n.keys[e.at]), e,
          "breaks the order of the keys");
  if (posts) {
    const trace_node_state* child = state_.find({e.other, e.level > 1});
    require(child != nullptr && child->level + 1 == n.level, e, "names a child that is no node of the next level");
  }
  n.keys.insert(n.keys.begin() + e.at, e.key);
  if (posts) n.children.insert(n.children.begin() + e.at, {e.other, e.level > 1});
}

void trace_replay::take_slot(const trace_event& e) {
  trace_node_state& n = node(name_of(e));
  require(e.at < n.keys.size() && n.keys[e.at] == e.key, e, "names a key that is not in that slot");
  n.keys.erase(n.keys.begin() + e.at);
  if (n.is_inner()) n.children.erase(n.children.begin() + e.at);
}

void trace_replay::split(const trace_event& e) {
  const trace_name name = name_of(e), fresh{e.other, name.inner};
  const trace_node_state& from = node(name);
  require(e.at <= from.keys.size(), e, "keeps more slots than are in use");
  require(fresh != name, e, "splits into itself");
  trace_node_state made;
  made.level = from.level;
  made.right = from.right;
  made.high = from.high;
  made.keys.assign(from.keys.begin() + e.at, from.keys.end());
  if (from.is_inner()) made.children.assign(from.children.begin() + e.at, from.children.end());
  save(fresh);
  state_.nodes[fresh] = std::move(made);
}

void trace_replay::link(const trace_event& e) {
  const trace_name name = name_of(e);
  trace_node_state& n = node(name);
  require(e.at <= n.keys.size(), e, "keeps more slots than are in use");
  const trace_node_state* right = state_.find({e.other, name.inner});
  require(right != nullptr && right->level == n.level, e, "leads to a node that is none of its level");
  save(name);
  n.keys.resize(e.at);
  if (n.is_inner()) n.children.resize(e.at);
  n.right = e.other;
  n.high = e.key;
}

void trace_replay::grow(const trace_event& e) {
  const trace_name name = name_of(e), left{e.other, true};
  require(name.inner && name == state_.root, e, "is not the root's");
  const trace_node_state& old = node(name);
  require(e.at != 0 && e.at <= old.keys.size(), e, "keeps other slots than are in use");
  const trace_node_state* right = state_.find({e.other2, true});
  require(left != name && e.other != e.other2 && right != nullptr && right->level == old.level, e,
          "names nodes that are none of its level");
  trace_node_state below = old;
  below.version = 0;
  below.dead = false;
  below.keys.resize(e.at);
  below.children.resize(e.at);
  below.right = e.other2;
  below.high = e.key2;
  trace_node_state top;
  top.level = old.level + 1;
  top.version = old.version;
  top.keys = {below.keys.front(), e.key};
  top.children = {{e.other, true}, {e.other2, true}};
  save(name);
  save(left);
  state_.nodes[name] = std::move(top);
  state_.nodes[left] = std::move(below);
}

void trace_replay::merge(const trace_event& e) {
  const trace_name name = name_of(e), gone{e.other, name.inner};
  trace_node_state &to = node(name), &from = node(gone);
  require(name != gone && to.right == e.other && !from.dead, e, "takes in a node that is not its neighbour");
  require(e.at == from.keys.size() && e.key == to.high, e, "does not fit the two nodes");
  require(to.keys.size() + from.keys.size() <= trace_.header.slots, e, "has no room for what it takes in");
  save(name);
  save(gone);
  to.keys.insert(to.keys.end(), from.keys.begin(), from.keys.end());
  to.high = from.high;
  to.right = from.right;
  from.dead = true;
  from.right = name.id;
}

void trace_replay::apply(const trace_event& e) {
  switch (e.kind) {
    case trace_kind::begin:
    case trace_kind::end:
      return;
    case trace_kind::kind:
      return rename(e);
    case trace_kind::reach:
    case trace_kind::retry:
      return met(e);
    case trace_kind::assign:
      return require(e.at < node(name_of(e)).keys.size() && node(name_of(e)).keys[e.at] == e.key, e,
                     "names a key that is not in that slot");
    case trace_kind::latch: {
      trace_node_state& n = node(name_of(e));
      require(n.version == e.other && (e.other & 1) == 0, e, "takes a latch that is not free at that version");
      n.version = e.other + 1;
      return;
    }
    case trace_kind::unlatch: {
      trace_node_state& n = node(name_of(e));
      require((n.version & 1) != 0, e, "releases a latch that is not held");
      require(e.other + 1 == n.version || e.other == n.version + 1, e, "has a version that does not follow");
      versions_.push_back(n.version);
      n.version = e.other;
      return;
    }
    case trace_kind::insert:
    case trace_kind::post:
      return put_slot(e);
    case trace_kind::erase:
      return take_slot(e);
    case trace_kind::split:
      return split(e);
    case trace_kind::link:
      return link(e);
    case trace_kind::grow:
      return grow(e);
    case trace_kind::merge:
      return merge(e);
    case trace_kind::state:
      require(e.other < trace_.states.size(), e, "carries no state");
      replaced_.push_back(std::exchange(state_, trace_.states[e.other]));
      return;
    case trace_kind::leaf:
      return new_leaf(e);
    case trace_kind::branch:
      return branch(e);
    case trace_kind::drop:
      return drop(e);
    case trace_kind::join:
      return join(e);
  }
}

void trace_replay::step() {
  if (position_ >= trace_.events.size()) throw error("the trace ends at position " + std::to_string(position_) + '.');
  apply(trace_.events[position_]);
  ++position_;
}

void trace_replay::step_back() {
  if (position_ == 0) throw error("the trace begins here.");
  const trace_event& e = trace_.events[position_ - 1];
  switch (e.kind) {
    case trace_kind::latch:
      node(name_of(e)).version = e.other;
      break;
    case trace_kind::unlatch:
      node(name_of(e)).version = versions_.back();
      versions_.pop_back();
      break;
    case trace_kind::insert:
      take_slot(e);
      break;
    case trace_kind::post:
      is_radix() ? restore(2) : take_slot(e);
      break;
    case trace_kind::erase: {
      trace_node_state& n = node(name_of(e));
      n.keys.insert(n.keys.begin() + e.at, e.key);
      break;
    }
    case trace_kind::split:
    case trace_kind::link:
    case trace_kind::leaf:
      restore(1);
      break;
    case trace_kind::grow:
    case trace_kind::merge:
    case trace_kind::drop:
      restore(2);
      break;
    case trace_kind::kind:
    case trace_kind::branch:
    case trace_kind::join:
      restore(3);
      break;
    case trace_kind::state:
      state_ = std::move(replaced_.back());
      replaced_.pop_back();
      break;
    default:
      break;
  }
  --position_;
}

void trace_replay::go(std::uint64_t to) {
  if (to > trace_.events.size())
    throw error("there is no position " + std::to_string(to) + ": the trace has " +
                std::to_string(trace_.events.size()) + " events.");
  while (position_ < to) step();
  while (position_ > to) step_back();
}

}  // namespace espalier
