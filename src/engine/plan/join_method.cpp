#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "engine/catalog.hpp"
#include "engine/expr/failing.hpp"
#include "engine/plan/index_aggregate.hpp"
#include "engine/plan/join_order.hpp"
#include "engine/plan/planner.hpp"
#include "engine/plan/sample.hpp"
#include "engine/plan/visit.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

struct sides {
  std::set<column_id> left, right;
};

// Returns an arbitrary value of the type.
std::shared_ptr<arrow::Scalar> some_value(const column_type& type) {
  if (type.id == type_id::varchar) return std::make_shared<arrow::StringScalar>("");
  const auto made = arrow::MakeScalar(arrow_type(type), 0);
  if (made.ok()) return *made;
  return std::make_shared<arrow::Decimal128Scalar>(arrow::Decimal128(0), arrow_type(type));
}

// Adds left = right to the join's equalities, in either orientation.
bool add_equality(join_node& join, const expr_ptr& condition, const sides& of) {
  if (condition->kind != op::equal) return false;
  const auto& a = condition->args[0];
  const auto& b = condition->args[1];
  std::set<column_id> in_a, in_b;
  collect_columns(a, in_a);
  collect_columns(b, in_b);
  if (in_a.empty() || in_b.empty()) return false;
  if (contains_all(of.left, a) && contains_all(of.right, b)) {
    join.equal.emplace_back(a, b);
  } else if (contains_all(of.left, b) && contains_all(of.right, a)) {
    join.equal.emplace_back(b, a);
  } else {
    return false;
  }
  return true;
}

// Adds IS NOT DISTINCT FROM as equalities of keys that are never NULL.
bool add_null_equality(join_node& join, const expr_ptr& condition, const sides& of) {
  if (condition->kind != op::is_not_distinct) return false;
  const auto not_null = [](const expr_ptr& e) {
    return make_call(op::coalesce, e->type, {e, make_literal(some_value(e->type), e->type)}, e->position);
  };
  const auto is_null = [](const expr_ptr& e) { return make_call(op::is_null, {type_id::boolean}, {e}, e->position); };
  const auto equality = [&](const auto& part) {
    return make_call(op::equal, {type_id::boolean}, {part(condition->args[0]), part(condition->args[1])},
                     condition->position);
  };
  return add_equality(join, equality(not_null), of) && add_equality(join, equality(is_null), of);
}

struct band_bound {
  expr_ptr value, end, condition;
  op kind;
};

// Returns a bound `value op end` whose value is on one side and whose end is on the other.
std::optional<band_bound> bound_on(const expr_ptr& condition, const std::set<column_id>& value_side,
                                   const std::set<column_id>& end_side) {
  if (!is_comparison(condition->kind) || condition->kind == op::equal || condition->kind == op::not_equal) {
    return std::nullopt;
  }
  if (condition->args[0]->type.id == type_id::varchar) return std::nullopt;  // keys differ between columns
  for (int flipped = 0; flipped < 2; ++flipped) {
    const auto& value = condition->args[flipped ? 1 : 0];
    const auto& end = condition->args[flipped ? 0 : 1];
    std::set<column_id> in_value, in_end;
    collect_columns(value, in_value);
    collect_columns(end, in_end);
    if (in_value.empty() || in_end.empty()) continue;
    if (contains_all(value_side, value) && contains_all(end_side, end)) {
      return band_bound{value, end, condition, flipped ? mirrored(condition->kind) : condition->kind};
    }
  }
  return std::nullopt;
}

// The band of one value, with one or two bounds.
struct band {
  expr_ptr value, lo, hi;
  bool lo_inclusive = true, hi_inclusive = true;
  std::vector<expr_ptr> answers;
};

std::optional<band> band_of(const std::vector<expr_ptr>& conditions, const std::set<column_id>& value_side,
                            const std::set<column_id>& end_side) {
  std::optional<band> best;
  for (const auto& first : conditions) {
    const auto start = bound_on(first, value_side, end_side);
    if (!start) continue;
    band candidate;
    candidate.value = start->value;
    for (const auto& condition : conditions) {
      const auto part = bound_on(condition, value_side, end_side);
      if (!part || !same(*part->value, *candidate.value)) continue;
      const bool lower = part->kind == op::greater || part->kind == op::greater_equal;
      auto& end = lower ? candidate.lo : candidate.hi;
      if (end) continue;
      end = part->end;
      (lower ? candidate.lo_inclusive : candidate.hi_inclusive) =
          part->kind == op::greater_equal || part->kind == op::less_equal;
      candidate.answers.push_back(condition);
    }
    if (!best || candidate.answers.size() > best->answers.size()) best = std::move(candidate);
  }
  return best;
}

// Returns whether those of the conditions that may fail and are answered by the join method come before the others that
// may fail, which are checked for its pairs only.
bool keeps_order(const std::vector<expr_ptr>& conditions, std::span<const expr_ptr> answered) {
  bool checks_one = false;
  for (const auto& condition : conditions) {
    if (cannot_fail(condition)) continue;
    const bool is_answered = std::ranges::find(answered, condition) != answered.end();
    if (is_answered && checks_one) return false;
    checks_one |= !is_answered;
  }
  return true;
}

struct overlap {
  overlap_condition condition;
  std::vector<expr_ptr> answers;
};

overlap overlap_from(const band_bound& start, const band_bound& finish) {
  using role = overlap_condition::role;
  overlap out;
  auto& [ends, order, start_inclusive, finish_inclusive] = out.condition;
  ends[role::right_start] = start.value;
  ends[role::left_finish] = start.end;
  ends[role::right_finish] = finish.value;
  ends[role::left_start] = finish.end;
  start_inclusive = start.kind == op::less_equal;
  finish_inclusive = finish.kind == op::greater_equal;
  out.answers = {start.condition, finish.condition};
  return out;
}

// Returns two bounds that are not of one value: the right side's start before the left side's finish, and its finish
// behind the left side's start. Ends of one type are preferred.
std::optional<overlap> overlap_of(const std::vector<expr_ptr>& conditions, const sides& of) {
  using role = overlap_condition::role;
  std::vector<std::pair<band_bound, std::size_t>> starts, finishes;
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const auto bound = bound_on(conditions[i], of.right, of.left);
    if (!bound) continue;
    const bool upper = bound->kind == op::less || bound->kind == op::less_equal;
    (upper ? starts : finishes).emplace_back(*bound, i);
  }
  std::optional<overlap> best;
  for (const auto& [start, start_at] : starts) {
    for (const auto& [finish, finish_at] : finishes) {
      const bool one_type = start.value->type == finish.value->type;
      if (best && !one_type) continue;
      auto candidate = overlap_from(start, finish);
      if (!keeps_order(conditions, candidate.answers)) continue;
      const bool start_flipped = start.condition->args[0] != start.value;
      const bool finish_flipped = finish.condition->args[0] != finish.value;
      std::array<role, 4> order{start_flipped ? role::left_finish : role::right_start,
                                start_flipped ? role::right_start : role::left_finish,
                                finish_flipped ? role::left_start : role::right_finish,
                                finish_flipped ? role::right_finish : role::left_start};
      if (finish_at < start_at) std::ranges::rotate(order, order.begin() + 2);
      candidate.condition.order = order;
      best = std::move(candidate);
      if (one_type) return best;
    }
  }
  return best;
}

void without(std::vector<expr_ptr>& conditions, const std::vector<expr_ptr>& answered) {
  std::erase_if(conditions,
                [&](const expr_ptr& e) { return std::find(answered.begin(), answered.end(), e) != answered.end(); });
}

const scan_node* plain_scan(const plan_node& input) {
  return input.kind == node_kind::scan && !static_cast<const scan_node&>(input).with_row_ids
             ? static_cast<const scan_node*>(&input)
             : nullptr;
}

double rows_of(const scan_node& scan) { return static_cast<double>(scan.table->version->live_rows()); }

expr_ptr as_condition(const std::pair<expr_ptr, expr_ptr>& equal) {
  return make_call(op::equal, {type_id::boolean}, {equal.first, equal.second}, equal.first->position);
}

void swap_sides(join_node& join) {
  std::swap(join.inputs[0], join.inputs[1]);
  for (auto& [left, right] : join.equal) std::swap(left, right);
}

// Returns the range of an index of the right side that the join conditions describe: as many equalities as possible,
// then a band.
std::optional<index_range> lookup_range(const join_node& join, const scan_node& scan, const band* b,
                                        const std::shared_ptr<table_index>& index, std::vector<std::size_t>& equal_used,
                                        bool& band_used) {
  index_range out;
  out.index = index;
  band_used = false;
  equal_used.clear();
  const auto& columns = index->spec().columns;
  std::size_t at = 0;
  for (bool more = true; more && at < columns.size();) {
    more = false;
    for (std::size_t i = 0; i < join.equal.size(); ++i) {
      if (table_column_of(scan, join.equal[i].second) != columns[at]) continue;
      if (std::find(equal_used.begin(), equal_used.end(), i) != equal_used.end()) continue;
      out.equal.push_back(join.equal[i].first);
      equal_used.push_back(i);
      ++at;
      more = true;
      break;
    }
  }
  if (at < columns.size() && b && table_column_of(scan, b->value) == columns[at]) {
    out.condition = key_condition::between;
    out.lo = b->lo;
    out.hi = b->hi;
    out.lo_inclusive = b->lo_inclusive;
    out.hi_inclusive = b->hi_inclusive;
    band_used = true;
  }
  if (out.equal.empty() && !band_used) return std::nullopt;
  return out;
}

// Returns the conditions that the lookup does not answer: those of the scan, then those of the join in the order in
// which every method checks them.
std::vector<expr_ptr> checked_after_lookup(const join_node& join, const scan_node& scan,
                                           const std::vector<std::size_t>& equal_used) {
  std::vector<expr_ptr> of_join, added;
  for (std::size_t i = 0; i < join.equal.size(); ++i) {
    if (std::ranges::find(equal_used, i) != equal_used.end()) continue;
    const auto& [left, right] = join.equal[i];
    const auto written = std::ranges::find_if(join.conditions, [&](const expr_ptr& e) {
      return e->kind == op::equal &&
             ((e->args[0] == left && e->args[1] == right) || (e->args[0] == right && e->args[1] == left));
    });
    added.push_back(written == join.conditions.end() ? as_condition(join.equal[i]) : *written);
  }
  const auto keep = [&](const std::vector<expr_ptr>& from, const expr_ptr& e) {
    if (std::ranges::find(from, e) != from.end()) of_join.push_back(e);
  };
  for (const auto& e : join.conditions) {
    keep(added, e);
    keep(join.residual, e);
  }
  for (const auto& e : added) {  // IS NOT DISTINCT FROM is checked as two equalities
    if (std::ranges::find(join.conditions, e) == join.conditions.end()) of_join.insert(of_join.begin(), e);
  }
  auto out = scan.conditions;
  const auto ordered = harmless_first(std::move(of_join));
  out.insert(out.end(), ordered.begin(), ordered.end());
  return out;
}

// Returns whether the lookup leaves an equality to be checked that may fail, next to another such condition. The other
// methods find pairs by all equalities, so they check that condition for other pairs.
bool checks_other_pairs(const join_node& join, const std::vector<std::size_t>& equal_used) {
  const auto may_fail = [](const expr_ptr& e) { return !cannot_fail(e); };
  if (std::ranges::count_if(join.conditions, may_fail) < 2) return false;
  for (std::size_t i = 0; i < join.equal.size(); ++i) {
    const bool harmless = cannot_fail(join.equal[i].first) && cannot_fail(join.equal[i].second);
    if (!harmless && std::ranges::find(equal_used, i) == equal_used.end()) return true;
  }
  return false;
}

bool try_lookup(join_node& join, const band* b, double other_cost) {
  const auto* scan = plain_scan(*join.inputs[1]);
  if (!scan || join.type == join_type::full) return false;
  // A lookup checks the scan's conditions for the rows found, the other methods for all. The result has to be the same.
  if (!std::ranges::all_of(scan->conditions, cannot_fail)) return false;
  const double left = join.inputs[0]->estimate;
  const double rows = std::max(rows_of(*scan), 1.0);
  for (const auto& index : scan->table->indexes) {
    std::vector<std::size_t> equal_used;
    bool band_used = false;
    auto range = lookup_range(join, *scan, b, index, equal_used, band_used);
    if (!range || checks_other_pairs(join, equal_used)) continue;
    const double per_row = band_used ? std::max(1.0, rows / 65536) : index->is_unique() ? 1 : 4;
    const double price =
        cost::question +
        left * (cost::index_probe +
                per_row * (cost::found_row + cost::gathered_value * static_cast<double>(scan->columns.size())));
    if (price >= other_cost) continue;
    if (band_used) without(join.residual, b->answers);
    join.residual = checked_after_lookup(join, *scan, equal_used);
    join.method = band_used ? join_method::band_index : join_method::index_lookup;
    auto& asked = const_cast<scan_node&>(*scan);  // for EXPLAIN; the join probes the index
    asked.ranges = {*range};
    asked.index_only = false;
    asked.residual.clear();
    join.lookup = std::move(range);
    join.cost = join.inputs[0]->cost + price;
    return true;
  }
  return false;
}

std::shared_ptr<const table_index> order_index(const join_node& join, bool left) {
  const auto* scan = plain_scan(*join.inputs[left ? 0 : 1]);
  if (!scan || !scan->conditions.empty()) return nullptr;
  const auto column = table_column_of(*scan, left ? join.equal[0].first : join.equal[0].second);
  for (const auto& index : scan->table->indexes) {
    if (index->spec().columns.size() == 1 && column == index->spec().columns[0]) return index;
  }
  return nullptr;
}

// Returns the cost of merging both sides in index order, or infinity if an index is missing.
double merge_cost(const join_node& join) {
  const bool possible = join.equal.size() == 1 && join.equal[0].first->type.id != type_id::varchar &&
                        order_index(join, true) && order_index(join, false);
  if (!possible) return std::numeric_limits<double>::infinity();
  double price = 0;
  for (const auto& input : join.inputs) {
    price += input->estimate *
             (cost::merged_row + cost::found_row + cost::gathered_value * static_cast<double>(input->outputs.size()));
  }
  return price;
}

void use_merge(join_node& join) {
  join.left_index = order_index(join, true);
  join.right_index = order_index(join, false);
  join.method = join_method::index_merge;
  join.cost = merge_cost(join);
  const std::shared_ptr<const table_index> indexes[] = {join.left_index, join.right_index};
  for (std::size_t i = 0; i < 2; ++i) {
    auto& asked = static_cast<scan_node&>(*join.inputs[i]);
    asked.ranges.resize(1);
    asked.ranges[0].index = indexes[i];
  }
}

double joined_rows(const join_node& join, bool has_band) {
  const double left = join.inputs[0]->estimate;
  const double right = join.inputs[1]->estimate;
  if (join.type == join_type::semi || join.type == join_type::anti) {
    // The estimate is never 0: the values are from a sample, and a key of one side need not occur on the other.
    const double share = std::clamp(matched_share(*join.inputs[0], *join.inputs[1], join.conditions), 0.0, 1.0);
    return left * (join.type == join_type::semi ? share : std::max(0.1, 1 - share));
  }
  if (join.type == join_type::inner && !join.equal.empty()) {
    return rows_of_inner_join(*join.inputs[0], *join.inputs[1], join.conditions);
  }
  double out = !join.equal.empty() ? std::max(left, right)
               : has_band          ? left * std::max(1.0, right / 1000)
                                   : left * right;
  for (std::size_t i = 1; i < join.equal.size(); ++i) out *= 0.5;
  return join.type == join_type::inner ? out : std::max(out, left);
}

void use_band(join_node& join, const band& b, bool value_is_right) {
  join.method = join_method::band_sort;
  join.band_value = b.value;
  join.band_lo = b.lo;
  join.band_hi = b.hi;
  join.band_lo_inclusive = b.lo_inclusive;
  join.band_hi_inclusive = b.hi_inclusive;
  join.band_value_is_right = value_is_right;
  without(join.residual, b.answers);
}

void use_overlap(join_node& join, const overlap& spans) {
  join.method = join_method::overlap;
  join.overlap = spans.condition;
  without(join.residual, spans.answers);
}

// Both sides are sorted and searched. A hash join makes all pairs of equal keys, but sorts nothing.
bool overlap_pays(const join_node& join) {
  if (join.equal.empty()) return true;
  std::vector<expr_ptr> equalities;
  for (const auto& pair : join.equal) equalities.push_back(as_condition(pair));
  constexpr double pairs_per_row = 4;
  return rows_of_inner_join(*join.inputs[0], *join.inputs[1], equalities) >
         pairs_per_row * (join.inputs[0]->estimate + join.inputs[1]->estimate);
}

// An index is asked once for each left row; without it, both sides are brought into order and merged. Nanoseconds a row
// on one or two threads, 2^12 to 2^20 rows of either side (docs/design/sql-joins.md): a lookup takes 90 more than a
// left row that is merged. A right side that is in order is not sorted.
bool merge_is_faster(const as_of_node& join, const scan_node& right) {
  constexpr double lookup = 90;
  const bool groups = !join.equal.empty();
  const double lookups = join.inputs[0]->estimate * lookup, rows = rows_of(right);
  const double per_ordered_row = groups ? 20 : 3, per_row = groups ? 50 : 40;
  if (lookups <= rows * per_ordered_row) return false;
  if (lookups > rows * per_row) return true;
  const auto column = table_column_of(right, join.right_at);
  return column && appears_sorted(*right.table, *column);
}

// An index is asked for each aggregate of each window; without it, the right side is sorted once and its values are
// added up. Nanoseconds, from 2^10 to 2^20 windows over 2^22 rows (docs/design/sql-joins.md).
bool index_is_faster(const window_join_node& join, const scan_node& right, const table_index& index) {
  const auto calls = static_cast<double>(join.calls.size());
  const double asked = index.kind() == index_kind::static_tree ? 650 : 1600;
  const double sorted = 120 + 40 * calls;
  return join.inputs[0]->estimate * calls * asked <= rows_of(right) * sorted;
}

// Returns the equalities in the order of an index over their columns of the right side and then `at`, or nothing if the
// index has other columns.
std::optional<std::vector<std::pair<expr_ptr, expr_ptr>>> in_index_order(
    const std::vector<std::pair<expr_ptr, expr_ptr>>& equal, const expr_ptr& at, const scan_node& scan,
    const table_index& index) {
  const auto& columns = index.spec().columns;
  if (columns.size() != equal.size() + 1 || table_column_of(scan, at) != columns.back()) return std::nullopt;
  std::vector<std::pair<expr_ptr, expr_ptr>> out;
  for (std::size_t i = 0; i + 1 < columns.size(); ++i) {
    for (const auto& pair : equal) {
      if (table_column_of(scan, pair.second) == columns[i]) {
        out.push_back(pair);
        break;
      }
    }
  }
  if (out.size() != equal.size()) return std::nullopt;
  return out;
}

// EXPLAIN shows the index at the scan of a join that asks it.
void show_index(const scan_node& scan, const std::shared_ptr<const table_index>& index) {
  auto& asked = const_cast<scan_node&>(scan);
  asked.ranges.resize(1);
  asked.ranges[0].index = index;
}

}  // namespace

void choose_join_method(join_node& join, const planner_options& options) {
  sides of{output_ids(*join.inputs[0]), output_ids(*join.inputs[1])};
  for (const auto& condition : join.conditions) {
    if (!add_equality(join, condition, of)) join.residual.push_back(condition);
  }
  if (join.equal.empty()) {
    for (const auto& condition : std::vector<expr_ptr>(join.residual)) {
      if (add_null_equality(join, condition, of)) std::erase(join.residual, condition);
    }
  }
  join.residual = harmless_first(std::move(join.residual));
  const auto of_right = band_of(join.residual, of.right, of.left);
  const auto of_left = band_of(join.residual, of.left, of.right);
  // A band with one bound is not used if the other side's value has both bounds.
  const std::size_t right_ends = of_right ? of_right->answers.size() : 0;
  const std::size_t left_ends = of_left ? of_left->answers.size() : 0;
  const band* right_band = right_ends > 0 && right_ends >= left_ends ? &*of_right : nullptr;
  const band* left_band = left_ends > 0 && left_ends >= right_ends ? &*of_left : nullptr;
  const double left = join.inputs[0]->estimate;
  const double right = join.inputs[1]->estimate;
  const double below = join.inputs[0]->cost + join.inputs[1]->cost;
  join.estimate = joined_rows(join, right_band || left_band);
  const double hash =
      right_band && join.equal.empty() ? (left + right) * cost::index_probe * 2 : (left + right) * cost::hashed_row;
  const bool both_ends = std::max(right_ends, left_ends) == 2;
  auto spans = both_ends ? std::nullopt : overlap_of(join.residual, of);
  if (spans && !overlap_pays(join)) spans.reset();
  const bool prefers_index = options.use_indexes && options.prefer_indexes && join.filters.empty();
  if (spans && !prefers_index) {
    join.cost = below + (left + right) * cost::index_probe * 2;
    return use_overlap(join, *spans);
  }

  if (options.use_indexes && join.filters.empty()) {
    const bool bands = join.equal.empty() || both_ends;
    constexpr double any_cost = std::numeric_limits<double>::infinity();
    const double merge = merge_cost(join);
    if (options.prefer_indexes && merge < any_cost) return use_merge(join);
    // A lookup reads one side only and has to be cheaper than the other methods, which read both.
    const double other = options.prefer_indexes ? any_cost : std::min(hash + below, merge);
    if (try_lookup(join, bands ? right_band : nullptr, other - join.inputs[0]->cost)) return;
    if (join.type == join_type::inner) {
      swap_sides(join);
      if (try_lookup(join, bands ? left_band : nullptr, other - join.inputs[0]->cost)) return;
      swap_sides(join);
    }
    if (merge < hash + below) return use_merge(join);
  }
  join.cost = below + hash;
  if (spans) return use_overlap(join, *spans);
  if (join.equal.empty() || both_ends) {
    // The larger side should be sorted and searched, not iterated over. A full join visits both sides anyway.
    if (left_band && !right_band) {
      use_band(join, *left_band, false);
      return;
    }
    if (right_band) {
      use_band(join, *right_band, true);
      return;
    }
  }
  if (join.equal.empty()) {
    join.method = join_method::loop;
    join.cost = below + left * right;
    return;
  }
  join.method = join_method::hash;
  // Semi and anti joins only mark the rows of the left side that have a match.
  const bool either = join.type == join_type::inner || join.type == join_type::semi || join.type == join_type::anti;
  join.build_left = either && left < right;
}

void choose_as_of_index(as_of_node& join, const planner_options& options) {
  const auto* scan = plain_scan(*join.inputs[1]);
  if (!options.use_indexes || !scan || !scan->conditions.empty()) return;
  // An index has equal keys in the order of its rows, and finds the nearest row on one side.
  if (!join.ties.empty() || join.distance) return;
  if (!options.prefer_indexes && merge_is_faster(join, *scan)) return;
  for (const auto& index : scan->table->indexes) {
    auto equal = in_index_order(join.equal, join.right_at, *scan, *index);
    if (!equal) continue;
    join.equal = std::move(*equal);
    join.index = index;
    show_index(*scan, index);
    return;
  }
}

void choose_window_index(window_join_node& join, const planner_options& options) {
  if (join.finish) return;  // an index has one of the two ends in order
  const auto* scan = plain_scan(*join.inputs[1]);
  if (!options.use_indexes || !scan || !scan->conditions.empty()) return;
  for (const auto& index : scan->table->indexes) {
    // Without ranks, the index reads the rows of each window.
    if (!options.prefer_indexes && !(index->has_ranks() && index_is_faster(join, *scan, *index))) continue;
    const auto answers = [&](const aggregate_call& call) {
      const auto column = call.argument ? table_column_of(*scan, call.argument) : std::optional<std::size_t>(0);
      return column && index_can_answer(*index, call, *column);
    };
    if (!std::ranges::all_of(join.calls, answers)) continue;
    auto equal = in_index_order(join.equal, join.at, *scan, *index);
    if (!equal) continue;
    join.equal = std::move(*equal);
    join.index = index;
    show_index(*scan, index);
    return;
  }
}

}  // namespace espalier::engine
