#include "engine/plan/join_order.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <tuple>

#include "engine/catalog.hpp"
#include "engine/expr/failing.hpp"
#include "engine/plan/sample.hpp"
#include "engine/plan/visit.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t most_tried = 10;  // dynamic programming over 2^n sets; larger groups use the greedy order

const join_node* inner_join(const plan_node& node) {
  if (node.kind != node_kind::join) return nullptr;
  const auto& join = static_cast<const join_node&>(node);
  return join.type == join_type::inner && join.filters.empty() ? &join : nullptr;
}

void collect_group(const plan_ptr& node, inner_joins& out) {
  const auto* join = inner_join(*node);
  if (!join) {
    out.inputs.push_back(node);
    return;
  }
  for (const auto& input : join->inputs) collect_group(input, out);
  out.conditions.insert(out.conditions.end(), join->conditions.begin(), join->conditions.end());
}

// The table column behind one side of an equality, with its estimated number of distinct values.
struct key_side {
  double values = 0;
  bool unique = false;
};

std::optional<key_side> side_of(const plan_node& input, const expr_ptr& e) {
  if (!contains_all(output_ids(input), e)) return std::nullopt;
  if (input.kind == node_kind::join) {
    for (const auto& below : input.inputs) {
      if (const auto side = side_of(*below, e)) return side;
    }
  }
  if (input.kind != node_kind::scan) return key_side{std::max(input.estimate, 1.0), false};
  const auto& scan = static_cast<const scan_node&>(input);
  key_side out{std::max(1.0, static_cast<double>(scan.table->version->live_rows())), false};
  const auto column = table_column_of(scan, e);
  if (column) out.values = std::max(1.0, sampled_value_count(*scan.table, *column));
  for (const auto& index : scan.table->indexes) {
    const auto& columns = index->spec().columns;
    out.unique |= column && index->is_unique() && columns.size() == 1 && columns[0] == *column;
  }
  return out;
}

// Returns the number of distinct keys that an equality compares: that of the side whose keys are unique, otherwise that
// of the side with more keys.
double key_count(const plan_node& left, const plan_node& right, const expr& equality) {
  for (int flipped = 0; flipped < 2; ++flipped) {
    const auto a = side_of(left, equality.args[flipped ? 1 : 0]);
    const auto b = side_of(right, equality.args[flipped ? 0 : 1]);
    if (!a || !b) continue;
    if (a->unique != b->unique) return a->unique ? a->values : b->values;
    return std::max(a->values, b->values);
  }
  return 0;
}

// Several equalities of two tables rarely have more distinct keys than the smaller table has rows, since together they
// identify its rows.
double most_keys(const plan_node& left, const plan_node& right) {
  const auto rows = [](const plan_node& input) {
    return input.kind == node_kind::scan
               ? static_cast<double>(static_cast<const scan_node&>(input).table->version->live_rows())
               : input.estimate;
  };
  return std::max(1.0, std::min(rows(left), rows(right)));
}

// The number of distinct keys of all equalities between two inputs together.
class key_counts {
 public:
  void add(const plan_node& left, const plan_node& right, double keys) {
    if (keys <= 0) return;
    product_ *= keys;
    most_ = std::max(most_, keys);
    if (++equalities_ > 1) limit_ = std::min(limit_, most_keys(left, right));
  }
  [[nodiscard]] double total() const { return std::max(most_, std::min(product_, limit_)); }

 private:
  double product_ = 1, most_ = 1;
  double limit_ = std::numeric_limits<double>::infinity();
  int equalities_ = 0;
};

class order_search {
 public:
  explicit order_search(const inner_joins& group) : group_(group) {
    for (const auto& input : group.inputs) columns_.push_back(output_ids(*input));
    for (const auto& condition : group.conditions) {
      std::set<column_id> used;
      collect_columns(condition, used);
      std::uint64_t inputs = 0;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        const bool uses = std::any_of(used.begin(), used.end(), [&](auto id) { return columns_[i].contains(id); });
        if (uses) inputs |= std::uint64_t{1} << i;
      }
      inputs_of_.push_back(inputs);
    }
  }

  [[nodiscard]] std::vector<std::size_t> best_order() const {
    std::vector<std::size_t> written(group_.inputs.size());
    for (std::size_t i = 0; i < written.size(); ++i) written[i] = i;
    auto found = group_.inputs.size() <= most_tried ? by_trying_all() : by_taking_the_best_next();
    return rows_on_the_way(found) < 0.9 * rows_on_the_way(written) ? found : written;
  }

  /// Returns the conditions that can be checked once `next` joins the inputs of `there`, and not before.
  [[nodiscard]] std::vector<expr_ptr> conditions_at(std::uint64_t there, std::size_t next) const {
    std::vector<expr_ptr> out;
    for (std::size_t c = 0; c < inputs_of_.size(); ++c) {
      if (is_checked_at(c, there, next)) out.push_back(group_.conditions[c]);
    }
    return out;
  }

 private:
  [[nodiscard]] bool is_checked_at(std::size_t condition, std::uint64_t there, std::size_t next) const {
    const std::uint64_t with = there | std::uint64_t{1} << next;
    const bool before = (inputs_of_[condition] & ~there) == 0 && std::popcount(there) > 1;
    return (inputs_of_[condition] & ~with) == 0 && !before;
  }

  /// Returns the number of keys of an equality between two inputs. It is cached, since the search uses it repeatedly.
  [[nodiscard]] double keys_between(std::size_t i, std::size_t next, std::size_t condition) const {
    const auto [found, added] = keys_.try_emplace({i, next, condition}, 0);
    if (added) found->second = key_count(*group_.inputs[i], *group_.inputs[next], *group_.conditions[condition]);
    return found->second;
  }

  [[nodiscard]] double joined(std::uint64_t there, double rows, std::size_t next) const {
    double out = rows * std::max(group_.inputs[next]->estimate, 1.0);
    std::vector<key_counts> by_partner(group_.inputs.size());
    for (std::size_t c = 0; c < inputs_of_.size(); ++c) {
      if (!is_checked_at(c, there, next)) continue;
      const auto& condition = group_.conditions[c];
      double keys = 0;
      for (std::size_t i = 0; condition->kind == op::equal && i < group_.inputs.size() && keys == 0; ++i) {
        if ((there >> i & 1) == 0 || (inputs_of_[c] >> i & 1) == 0) continue;
        keys = keys_between(i, next, c);
        by_partner[i].add(*group_.inputs[i], *group_.inputs[next], keys);
      }
      if (keys == 0) out *= selectivity(condition);
    }
    for (const auto& keys : by_partner) out /= keys.total();
    return std::max(out, 1.0);
  }

  [[nodiscard]] double rows_on_the_way(const std::vector<std::size_t>& order) const {
    double rows = group_.inputs[order[0]]->estimate, sum = 0;
    std::uint64_t there = std::uint64_t{1} << order[0];
    for (std::size_t i = 1; i < order.size(); ++i) {
      rows = joined(there, rows, order[i]);
      sum += rows;
      there |= std::uint64_t{1} << order[i];
    }
    return sum;
  }

  // The best order of a set of inputs is the best order of a set with one input less, followed by that input.
  [[nodiscard]] std::vector<std::size_t> by_trying_all() const {
    const std::size_t n = group_.inputs.size();
    struct step {
      double sum = std::numeric_limits<double>::infinity();
      double rows = 0;
      std::size_t last = 0;
    };
    std::vector<step> best(std::size_t{1} << n);
    for (std::size_t i = 0; i < n; ++i) best[std::size_t{1} << i] = {0, group_.inputs[i]->estimate, i};
    for (std::size_t there = 1; there < best.size(); ++there) {
      for (std::size_t next = 0; next < n; ++next) {
        if ((there >> next & 1) != 0) continue;
        const double rows = joined(there, best[there].rows, next);
        auto& with = best[there | std::size_t{1} << next];
        if (best[there].sum + rows < with.sum) with = {best[there].sum + rows, rows, next};
      }
    }
    std::vector<std::size_t> out;
    for (std::size_t there = best.size() - 1; there != 0; there &= ~(std::size_t{1} << best[there].last)) {
      out.push_back(best[there].last);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

  [[nodiscard]] std::vector<std::size_t> by_taking_the_best_next() const {
    const std::size_t n = group_.inputs.size();
    std::vector<std::size_t> out{0};
    for (std::size_t i = 1; i < n; ++i) {
      if (group_.inputs[i]->estimate < group_.inputs[out[0]]->estimate) out[0] = i;
    }
    std::uint64_t there = std::uint64_t{1} << out[0];
    double rows = group_.inputs[out[0]]->estimate;
    while (out.size() < n) {
      std::size_t best = n;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t next = 0; next < n; ++next) {
        if ((there >> next & 1) != 0) continue;
        const double then = joined(there, rows, next);
        if (then < least) std::tie(least, best) = std::pair(then, next);
      }
      if (best == n) best = static_cast<std::size_t>(std::countr_one(there));
      out.push_back(best);
      there |= std::uint64_t{1} << best;
      rows = least;
    }
    return out;
  }

  const inner_joins& group_;
  std::vector<std::set<column_id>> columns_;
  std::vector<std::uint64_t> inputs_of_;  // bit set of inputs per condition
  mutable std::map<std::tuple<std::size_t, std::size_t, std::size_t>, double> keys_;
};

// Sets the outputs of a join: the outputs of all joins together and the columns that later conditions read.
void set_outputs(join_node& join, const std::vector<output_column>& outputs, const std::vector<expr_ptr>& later) {
  std::set<column_id> wanted;
  for (const auto& output : outputs) wanted.insert(output.id);
  for (const auto& condition : later) collect_columns(condition, wanted);
  for (const auto& input : join.inputs) {
    for (const auto& output : input->outputs) {
      if (wanted.contains(output.id) && !output.for_conditions) join.outputs.push_back(output);
    }
  }
}

// A scan gets ranges from the method of its join, so a plan takes copies of the scans.
std::vector<plan_ptr> with_own_scans(std::vector<plan_ptr> inputs) {
  for (auto& input : inputs) {
    if (input->kind == node_kind::scan) input = std::make_shared<scan_node>(static_cast<const scan_node&>(*input));
  }
  return inputs;
}

plan_ptr filtered(plan_ptr input, std::vector<expr_ptr> conditions, const std::vector<output_column>& outputs) {
  auto out = std::make_shared<filter_node>();
  out->conditions = std::move(conditions);
  out->outputs = outputs;
  out->estimate = input->estimate;
  out->cost = input->cost;
  out->inputs = {std::move(input)};
  return out;
}

plan_ptr planned(const inner_joins& joins) {
  inner_joins group = joins;
  group.inputs = with_own_scans(std::move(group.inputs));
  std::vector<expr_ptr> at_last;
  for (const auto c : group.tolerated) {
    at_last.push_back(group.conditions[c]);
    group.conditions[c] = true_where_it_fails(group.conditions[c]);
  }
  const order_search search(group);
  const auto order = search.best_order();
  std::vector<std::vector<expr_ptr>> conditions(order.size());
  std::uint64_t there = std::uint64_t{1} << order[0];
  for (std::size_t i = 1; i < order.size(); ++i) {
    conditions[i] = search.conditions_at(there, order[i]);
    there |= std::uint64_t{1} << order[i];
  }
  plan_ptr out = group.inputs[order[0]];
  for (std::size_t i = 1; i < order.size(); ++i) {
    auto join = std::make_shared<join_node>();
    join->conditions = conditions[i];
    join->inputs = {out, group.inputs[order[i]]};
    auto later = at_last;
    for (std::size_t k = i + 1; k < order.size(); ++k) {
      later.insert(later.end(), conditions[k].begin(), conditions[k].end());
    }
    set_outputs(*join, group.outputs, later);
    choose_join_method(*join, group.options);
    out = join;
  }
  if (!at_last.empty()) return filtered(std::move(out), std::move(at_last), group.outputs);
  out->outputs = group.outputs;
  return out;
}

}  // namespace

bool has_join_order(const plan_node& node) {
  const auto count = [](const auto& self, const plan_node& at) -> std::size_t {
    const auto* join = inner_join(at);
    return join ? self(self, *join->inputs[0]) + self(self, *join->inputs[1]) : 1;
  };
  const std::size_t inputs = count(count, node);
  return inputs > 2 && inputs <= 64;
}

double rows_of_inner_join(const plan_node& left, const plan_node& right, const std::vector<expr_ptr>& conditions) {
  double out = std::max(left.estimate, 1.0) * std::max(right.estimate, 1.0);
  key_counts together;
  for (const auto& condition : conditions) {
    const double keys = condition->kind == op::equal ? key_count(left, right, *condition) : 0;
    together.add(left, right, keys);
    if (keys == 0) out *= selectivity(condition);
  }
  return out / together.total();
}

double matched_share(const plan_node& left, const plan_node& right, const std::vector<expr_ptr>& conditions) {
  double out = 1;
  bool known = false;
  for (const auto& condition : conditions) {
    if (condition->kind != op::equal) continue;
    for (int flipped = 0; flipped < 2; ++flipped) {
      const auto a = side_of(left, condition->args[flipped ? 1 : 0]);
      const auto b = side_of(right, condition->args[flipped ? 0 : 1]);
      if (!a || !b) continue;
      known = true;
      out = std::min(out, std::min(b->values, std::max(right.estimate, 1.0)) / std::max(a->values, 1.0));
    }
  }
  return known ? out : 0.5;
}

plan_ptr ordered_joins(const join_node& top, const std::function<plan_ptr(plan_ptr)>& chosen,
                       const planner_options& options) {
  inner_joins group;
  for (const auto& input : top.inputs) collect_group(input, group);
  group.conditions.insert(group.conditions.end(), top.conditions.begin(), top.conditions.end());
  for (auto& input : group.inputs) input = chosen(input);
  group.outputs = top.outputs;
  group.options = options;
  auto out = planned(group);
  if (!std::ranges::all_of(group.conditions, cannot_fail)) out->joins = std::make_shared<inner_joins>(std::move(group));
  return out;
}

bool tolerate_failures(plan_node& plan, int position) {
  bool found = false;
  const auto is_there = [&](const expr& e) { return position < 0 || e.position == position; };
  for_each_node(plan, [&](plan_node& node) {
    for (auto& input : node.inputs) {
      if (!input->joins) continue;
      auto group = *input->joins;
      for (std::size_t c = 0; c < group.conditions.size(); ++c) {
        if (!cannot_fail(group.conditions[c]) && any_node(group.conditions[c], is_there)) group.tolerated.insert(c);
      }
      if (group.tolerated.size() == input->joins->tolerated.size()) continue;
      found = true;
      input = planned(group);
      input->joins = std::make_shared<inner_joins>(std::move(group));
    }
  });
  return found;
}

}  // namespace espalier::engine
