// source.cpp - see source.hpp.
#include "explorer/source.hpp"

#include <algorithm>

namespace espalier::explorer {

namespace {

recorded_trace beginning_of(const live_tree& tree) {
  recorded_trace trace;
  trace.header = tree.header();
  trace.start = tree.state();
  return trace;
}

/// Nodes that one write replaced by others of another kind: at the same level, and with a child in common.
std::vector<trace_event> changed_kinds(const trace_state& before, const trace_state& now) {
  const auto share_a_child = [](const trace_node_state& a, const trace_node_state& b) {
    return std::find_first_of(a.children.begin(), a.children.end(), b.children.begin(), b.children.end()) !=
           a.children.end();
  };
  std::vector<trace_event> events;
  for (const auto& [name, node] : now.nodes) {
    if (!name.inner || before.find(name) != nullptr) continue;
    for (const auto& [old_name, old] : before.nodes) {
      if (!old_name.inner || now.find(old_name) != nullptr || old.level != node.level || !share_a_child(old, node))
        continue;
      events.push_back(trace::about(trace_kind::kind, {old_name.id, old.level},
                                    static_cast<std::uint32_t>(old.kind) << 8 | static_cast<std::uint32_t>(node.kind),
                                    0, name.id));
    }
  }
  return events;
}

}  // namespace

source::source(std::string name, std::string words, recorded_trace trace)
    : id(std::move(name)), title(std::move(words)), filled(0), trace_(std::move(trace)), replay_(trace_) {}

source::source(std::string name, std::string words, std::unique_ptr<live_tree> tree, std::uint64_t keys)
    : id(std::move(name)),
      title(std::move(words)),
      filled(keys),
      trace_(beginning_of(*tree)),
      tree_(std::move(tree)),
      replay_(trace_) {}

const trace_state& source::state_at(std::uint64_t position) {
  replay_.go(position);
  return replay_.state();
}

live_outcome source::run(const live_call& call, const live_limits& limits) {
  const bool reads = call.op == trace_op::find || call.op == trace_op::range;
  if (!reads && !tree_->changes())
    throw error("a " + trace_.header.index + " tree is not changed once it is built: ask it with find and range.");
  // Most operations make some ten events, those that split many levels a hundred; a range one for each of its leaves.
  const std::uint64_t wanted = call.op == trace_op::range ? std::uint64_t{1} << 18 : call.keys.size() * 64 + 4096;
  const std::uint64_t left =
      limits.events_per_session - std::min<std::uint64_t>(limits.events_per_session, trace_.events.size());
  const std::uint64_t room = std::min(wanted, left);
  trace_recorder recorder(tree_->where(), std::max<std::uint64_t>(room, 1));
  if (!reads && !tree_->tells_changes()) return run_by_states(call, recorder);
  const live_outcome outcome = tree_->run(call, recorder.ring());
  append(trace_, recorder.take());
  trace_.lost += recorder.lost();
  return outcome;
}

live_outcome source::run_by_states(const live_call& call, trace_recorder& recorder) {
  constexpr std::size_t few_keys = 64, few_nodes = 1024;
  live_outcome sum;
  replay_.go(trace_.events.size());
  const bool each = call.keys.size() <= few_keys && replay_.state().nodes.size() <= few_nodes;
  const std::size_t piece = each ? 1 : call.keys.size();
  for (std::size_t first = 0; first < call.keys.size() && trace_.lost == 0; first += piece) {
    const live_outcome outcome = tree_->run({call.op, call.keys.subspan(first, piece), call.to, 1}, recorder.ring());
    std::vector<trace_event> events = recorder.take();
    if (!each) {  // nodes on later ways are in the tree at the end, and not in any before
      std::erase_if(events,
                    [](const trace_event& e) { return e.kind != trace_kind::begin && e.kind != trace_kind::end; });
    }
    append(trace_, events);
    trace_.lost += recorder.lost();
    sum.done += outcome.done;
    sum.unchanged += outcome.unchanged;
    sum.no_room += outcome.no_room;
    if (trace_.lost != 0) break;
    replay_.go(trace_.events.size());
    trace_state now = tree_->state();
    if (now == replay_.state()) continue;
    if (each) append(trace_, changed_kinds(replay_.state(), now));
    append_state(trace_, std::move(now), trace_state_why::write);
    replay_.go(trace_.events.size());
  }
  return sum;
}

void source::maintain() {
  if (!tree_->maintain()) throw error("a " + trace_.header.index + " tree has nothing to make anew.");
  append_state(trace_, tree_->state());
}

}  // namespace espalier::explorer
