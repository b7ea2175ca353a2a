#include "engine/plan/common_conjuncts.hpp"

#include <algorithm>

#include "engine/plan/visit.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t most_branches = 100;  // branches are compared pairwise

bool is_plain_test(const expr_ptr& e) {
  const bool tests =
      is_comparison(e->kind) || e->kind == op::in_list || e->kind == op::is_null || e->kind == op::is_not_null;
  return tests && std::ranges::all_of(e->args, [](const expr_ptr& arg) {
           return arg->kind == op::column || arg->kind == op::literal || arg->kind == op::parameter;
         });
}

// Returns whether the conditions are equivalent; a = b and b = a are.
bool says_the_same(const expr& a, const expr& b) {
  if (same(a, b)) return true;
  return is_comparison(a.kind) && is_comparison(b.kind) && a.kind == mirrored(b.kind) && same(*a.args[0], *b.args[1]) &&
         same(*a.args[1], *b.args[0]);
}

bool contains(const std::vector<expr_ptr>& conjuncts, const expr& wanted) {
  return std::ranges::any_of(conjuncts, [&](const expr_ptr& e) { return says_the_same(*e, wanted); });
}

}  // namespace

void add_factored(const expr_ptr& condition, std::vector<expr_ptr>& into) {
  if (condition->kind != op::logical_or || condition->args.size() > most_branches) {
    into.push_back(condition);
    return;
  }
  std::vector<std::vector<expr_ptr>> branches(condition->args.size());
  for (std::size_t i = 0; i < branches.size(); ++i) split_conjunction(condition->args[i], branches[i]);
  std::vector<expr_ptr> common;
  for (const auto& e : branches[0]) {
    const auto has_it = [&](const std::vector<expr_ptr>& branch) { return contains(branch, *e); };
    if (is_plain_test(e) && !contains(common, *e) && std::ranges::all_of(branches, has_it)) common.push_back(e);
  }
  if (common.empty()) {
    into.push_back(condition);
    return;
  }
  into.insert(into.end(), common.begin(), common.end());
  std::vector<expr_ptr> rest;
  for (auto& branch : branches) {
    std::erase_if(branch, [&](const expr_ptr& e) { return contains(common, *e); });
    if (branch.empty()) return;  // the OR of the remaining conditions is always true
    rest.push_back(conjunction(branch));
  }
  into.push_back(make_call(op::logical_or, condition->type, std::move(rest), condition->position));
}

expr_ptr implied_by_or(const expr_ptr& condition, const std::set<column_id>& columns) {
  if (condition->kind != op::logical_or || condition->args.size() > most_branches) return nullptr;
  std::vector<expr_ptr> branches;
  for (const auto& branch : condition->args) {
    std::vector<expr_ptr> tests, kept;
    split_conjunction(branch, tests);
    for (const auto& test : tests) {
      std::set<column_id> used;
      collect_columns(test, used);
      if (!used.empty() && is_plain_test(test) && contains_all(columns, test)) kept.push_back(test);
    }
    if (kept.empty()) return nullptr;
    branches.push_back(conjunction(kept));
  }
  return make_call(op::logical_or, condition->type, std::move(branches), condition->position);
}

}  // namespace espalier::engine
