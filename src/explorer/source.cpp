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

const std::vector<level_order>& source::levels_at(std::uint64_t position) {
  if (levels_position_ != position) {
    levels_ = walk_levels(state_at(position));
    levels_position_ = position;
  }
  return levels_;
}

live_outcome source::run(const live_call& call, const live_limits& limits) {
  const bool reads = call.op == trace_op::find || call.op == trace_op::range;
  if (!reads && !tree_->changes())
    throw error("a " + trace_.header.index + " tree is not changed once it is built: ask it with find and range.");
  // Most operations produce about ten events, those that split many levels a hundred, and a range one per leaf.
  const std::uint64_t wanted = call.op == trace_op::range ? std::uint64_t{1} << 18 : call.keys.size() * 64 + 4096;
  const std::uint64_t left =
      limits.events_per_session - std::min<std::uint64_t>(limits.events_per_session, trace_.events.size());
  const std::uint64_t room = std::min(wanted, left);
  trace_recorder recorder(tree_->get_device(), std::max<std::uint64_t>(room, 1));
  const live_outcome outcome = tree_->run(call, recorder.ring());
  append(trace_, recorder.take());
  trace_.lost += recorder.lost();
  return outcome;
}

void source::maintain() {
  if (!tree_->maintain()) throw error("a " + trace_.header.index + " tree has no inner levels to rebuild.");
  append_state(trace_, tree_->state());
}

}  // namespace espalier::explorer
