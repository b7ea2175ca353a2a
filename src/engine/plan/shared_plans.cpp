#include "engine/plan/shared_plans.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "engine/plan/visit.hpp"

namespace espalier::engine {
namespace {

// Visits every node of a statement once: inputs, subqueries in expressions, and the bodies of shared plans at their
// first reference.
class statement_walk {
 public:
  explicit statement_walk(std::function<void(plan_node&)> visit) : visit_(std::move(visit)) {}

  void operator()(plan_node& node) {
    visit_(node);
    for_each_expression(node, [&](expr_ptr& e) { queries_in(*e); });
    // The loop is by index, since `visit` may have replaced an input.
    for (std::size_t i = 0; i < node.inputs.size(); ++i) (*this)(*node.inputs[i]);
    if (node.kind != node_kind::shared) return;
    const auto source = static_cast<shared_node&>(node).source;
    if (!seen_.insert(source.get()).second) return;
    (*this)(*source->body);
    sources_.push_back(source);
  }

  /// Returns the shared plans in post-order, so a body follows those that it reads.
  [[nodiscard]] std::vector<std::shared_ptr<shared_plan>> take_sources() { return std::move(sources_); }

 private:
  void queries_in(const expr& e) {
    if (e.query && seen_.insert(e.query.get()).second) (*this)(*e.query);
    for (const auto& arg : e.args) queries_in(*arg);
  }

  std::function<void(plan_node&)> visit_;
  std::set<const void*> seen_;
  std::vector<std::shared_ptr<shared_plan>> sources_;
};

plan_ptr renamed(const shared_node& node) {
  const auto& body = node.source->body;
  bool same_ids = node.outputs.size() == body->outputs.size();
  for (std::size_t i = 0; same_ids && i < node.outputs.size(); ++i) {
    same_ids = node.outputs[i].id == body->outputs[i].id;
  }
  if (same_ids) return body;
  auto out = std::make_shared<project_node>();
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    out->expressions.push_back(make_column(node.columns[i], node.outputs[i].type));
  }
  out->outputs = node.outputs;
  out->inputs = {body};
  return out;
}

}  // namespace

std::shared_ptr<shared_node> reference_to(const std::shared_ptr<shared_plan>& source,
                                          const std::vector<column_id>& ids) {
  auto out = std::make_shared<shared_node>();
  out->source = source;
  out->outputs = source->body->outputs;
  for (std::size_t i = 0; i < out->outputs.size(); ++i) {
    out->columns.push_back(out->outputs[i].id);
    if (!ids.empty()) out->outputs[i].id = ids[i];
  }
  return out;
}

bool is_trivial(const plan_node& body) {
  switch (body.kind) {
    case node_kind::scan:
      return true;
    case node_kind::values:
      return static_cast<const values_node&>(body).rows.size() <= 1;
    case node_kind::project: {
      const auto& expressions = static_cast<const project_node&>(body).expressions;
      return std::ranges::all_of(expressions, [](const expr_ptr& e) { return e->args.empty() && !e->query; }) &&
             is_trivial(*body.inputs[0]);
    }
    case node_kind::filter: {
      const auto& conditions = static_cast<const filter_node&>(body).conditions;
      const auto is_plain = [](const expr_ptr& e) {
        const auto is_leaf = [](const expr_ptr& arg) { return arg->args.empty() && !arg->query; };
        return !e->query && std::ranges::all_of(e->args, is_leaf);
      };
      return std::ranges::all_of(conditions, is_plain) && is_trivial(*body.inputs[0]);
    }
    default:
      return false;
  }
}

void inline_single_uses(plan_node& plan) {
  std::map<const shared_plan*, int> places;
  statement_walk count([&](plan_node& node) {
    if (node.kind == node_kind::shared) ++places[static_cast<shared_node&>(node).source.get()];
  });
  count(plan);
  if (places.empty()) return;
  statement_walk replace([&](plan_node& node) {
    for (auto& input : node.inputs) {
      while (input->kind == node_kind::shared && places.at(static_cast<shared_node&>(*input).source.get()) == 1) {
        input = renamed(static_cast<shared_node&>(*input));
      }
    }
  });
  replace(plan);
}

std::vector<std::shared_ptr<shared_plan>> shared_plans(const plan_node& plan) {
  statement_walk walk([](plan_node&) {});
  walk(const_cast<plan_node&>(plan));  // only read
  return walk.take_sources();
}

}  // namespace espalier::engine
