#include "engine/sql/window.hpp"

#include <algorithm>

namespace espalier::engine {
namespace {

// A key of a sort. The direction of a PARTITION BY key does not matter, so an ORDER BY key of another call may set it.
struct shared_key {
  sort_key key;
  bool directed = false;
};

std::vector<shared_key> keys_of(const expr& call) {
  const auto& shape = *call.window;
  std::vector<shared_key> out;
  for (std::size_t i = 0; i < shape.partition_keys + shape.order_keys; ++i) {
    shared_key one{{call.args[shape.arguments + i], false, false}, i >= shape.partition_keys};
    if (one.directed) {
      const auto direction = call.directions[i - shape.partition_keys];
      one.key.descending = (direction & 1) != 0;
      one.key.nulls_first = (direction & 2) != 0;
    }
    out.push_back(std::move(one));
  }
  return out;
}

// Extends `keys` so that `more` is a prefix of it. Returns false, and leaves `keys` unchanged, if that is not possible.
bool share(std::vector<shared_key>& keys, const std::vector<shared_key>& more) {
  const auto both = std::min(keys.size(), more.size());
  for (std::size_t i = 0; i < both; ++i) {
    const auto& a = keys[i];
    const auto& b = more[i];
    if (!same(*a.key.value, *b.key.value)) return false;
    if (a.directed && b.directed && (a.key.descending != b.key.descending || a.key.nulls_first != b.key.nulls_first)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < both; ++i) {
    if (more[i].directed) keys[i] = more[i];
  }
  keys.insert(keys.end(), more.begin() + static_cast<std::ptrdiff_t>(both), more.end());
  return true;
}

window_call planned(const expr& e, column_id output) {
  const auto& shape = *e.window;
  window_call out;
  out.function = e.name;
  out.arguments.assign(e.args.begin(), e.args.begin() + static_cast<std::ptrdiff_t>(shape.arguments));
  out.partition_keys = shape.partition_keys;
  out.order_keys = shape.order_keys;
  out.frame = shape.frame;
  auto next = shape.arguments + shape.partition_keys + shape.order_keys;
  if (next < e.args.size()) {
    out.range_key = e.args[next++];
    const auto is_offset = [](frame_bound b) { return b == frame_bound::preceding || b == frame_bound::following; };
    if (is_offset(shape.frame.start) && !shape.frame.start_offset) out.range_start = e.args[next++];
    if (is_offset(shape.frame.end) && !shape.frame.end_offset) out.range_end = e.args[next++];
  }
  out.output = output;
  out.type = e.type;
  out.position = e.position;
  return out;
}

}  // namespace

expr_ptr windowing::above(const expr_ptr& e) {
  return rewrite(e, [&](const expr_ptr& node) -> expr_ptr {
    if (node->kind != op::window) return nullptr;
    for (const auto& known : calls_) {
      if (same(*known.call, *node)) return make_column(known.output, node->type, node->position);
    }
    calls_.push_back({node, binds_.new_column()});
    return make_column(calls_.back().output, node->type, node->position);
  });
}

plan_ptr windowing::plan(plan_ptr input) const {
  struct shared_sort {
    std::vector<shared_key> keys;
    std::vector<const bound_call*> calls;
  };
  std::vector<shared_sort> sorts;
  for (const auto& one : calls_) {
    const auto keys = keys_of(*one.call);
    auto sort = std::find_if(sorts.begin(), sorts.end(), [&](shared_sort& s) { return share(s.keys, keys); });
    if (sort == sorts.end()) sort = sorts.insert(sorts.end(), {keys, {}});
    sort->calls.push_back(&one);
  }
  for (const auto& sort : sorts) {
    auto node = std::make_shared<window_node>();
    for (const auto& one : sort.keys) node->keys.push_back(one.key);
    node->outputs = input->outputs;
    for (const auto* one : sort.calls) {
      node->calls.push_back(planned(*one->call, one->output));
      node->outputs.push_back({one->output, one->call->name, one->call->type});
    }
    node->inputs = {std::move(input)};
    input = std::move(node);
  }
  return input;
}

}  // namespace espalier::engine
