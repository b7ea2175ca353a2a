#include "engine/plan/explain.hpp"

#include <fmt/format.h>

#include <map>
#include <span>

#include "engine/catalog.hpp"
#include "engine/json_tree.hpp"
#include "engine/plan/shared_plans.hpp"
#include "engine/plan/visit.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

// The properties of a node that both formats show. Property names are PostgreSQL's where it has one.
struct description {
  std::string type;   ///< "Index Scan"
  std::string title;  ///< "Index Scan using by_day on orders"
  std::vector<std::pair<std::string, std::string>> properties;
};

using column_names = std::map<column_id, std::string>;

void collect_names(const plan_node& plan, column_names& out) {
  for (const auto& input : plan.inputs) collect_names(*input, out);
  for (const auto& output : plan.outputs) {
    const bool of_scan = plan.kind == node_kind::scan;
    const std::string name = output.name.empty() ? fmt::format("column{}", output.id) : output.name;
    out.try_emplace(output.id, of_scan ? static_cast<const scan_node&>(plan).alias + "." + name : name);
  }
}

class describer {
 public:
  explicit describer(const plan_node& plan) { collect_names(plan, names_); }

  [[nodiscard]] description of(const plan_node& plan) const {
    description out;
    switch (plan.kind) {
      case node_kind::scan:
        return scan(static_cast<const scan_node&>(plan));
      case node_kind::loaded:
        return {"Function Scan", "Function Scan on " + static_cast<const file_scan_node&>(plan).what, {}};
      case node_kind::values: {
        const auto& rows = static_cast<const values_node&>(plan).rows;
        return rows.size() == 1 && rows[0].empty() ? description{"Result", "Result", {}}
                                                   : description{"Values Scan", "Values Scan", {}};
      }
      case node_kind::filter:
        return {"Filter", "Filter", {{"Filter", list(static_cast<const filter_node&>(plan).conditions)}}};
      case node_kind::project:
        return {"Project", "Project", {{"Output", list(static_cast<const project_node&>(plan).expressions, ", ")}}};
      case node_kind::aggregate:
        return aggregate(static_cast<const aggregate_node&>(plan));
      case node_kind::index_aggregate:
        return index_aggregate(static_cast<const index_aggregate_node&>(plan));
      case node_kind::distinct:
        return {"Unique",
                static_cast<const distinct_node&>(plan).in_order ? "Unique (in index order)" : "Unique (hash)",
                {}};
      case node_kind::sort:
        return sort(static_cast<const sort_node&>(plan));
      case node_kind::window:
        return window(static_cast<const window_node&>(plan));
      case node_kind::limit:
        return {"Limit", "Limit", {}};
      case node_kind::join:
        return join(static_cast<const join_node&>(plan));
      case node_kind::as_of_join:
        return as_of(static_cast<const as_of_node&>(plan));
      case node_kind::window_join:
        return window_join(static_cast<const window_join_node&>(plan));
      case node_kind::union_all:
        return {"Append", "Append", {}};
      case node_kind::set_operation: {
        const auto& set = static_cast<const set_operation_node&>(plan);
        return {
            "SetOp", fmt::format("HashSetOp {}{}", set.intersect ? "Intersect" : "Except", set.all ? " All" : ""), {}};
      }
      case node_kind::numbered:
        return {"Row Numbers", "Row Numbers", {}};
      case node_kind::group_limit:
        return {
            "Limit", "Limit per Group", {{"Group Key", list(static_cast<const group_limit_node&>(plan).keys, ", ")}}};
      case node_kind::key_filter:
        return {"Key Filter", "Key Filter", {{"Keys", list(static_cast<const key_filter_node&>(plan).keys, ", ")}}};
      case node_kind::shared: {
        const auto& name = static_cast<const shared_node&>(plan).source->name;
        return {"CTE Scan", "CTE Scan on " + name, {{"CTE Name", name}}};
      }
    }
    return out;
  }

 private:
  [[nodiscard]] std::string text(const expr_ptr& e) const {
    return to_text(e, [&](column_id id) {
      const auto found = names_.find(id);
      return found == names_.end() ? fmt::format("column{}", id) : found->second;
    });
  }

  [[nodiscard]] std::string list(const std::vector<expr_ptr>& parts, const char* between = " AND ") const {
    std::string out;
    for (const auto& part : parts) out += (out.empty() ? "" : between) + text(part);
    return out;
  }

  // Returns the range as text: the conditions that it answers, or its bounds if it is probed by a join.
  [[nodiscard]] std::string range(const index_range& r) const {
    if (!r.answers.empty()) return list(r.answers);
    std::string out;
    for (const auto& e : r.equal) out += (out.empty() ? "= " : ", = ") + text(e);
    if (r.lo) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", r.lo_inclusive ? ">=" : ">", text(r.lo));
    if (r.hi) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", r.hi_inclusive ? "<=" : "<", text(r.hi));
    return out;
  }

  static std::string table_title(const std::string& name, const std::string& alias) {
    return name == alias || alias.empty() ? name : name + " " + alias;
  }

  void add_index(description& out, const index_range& r) const {
    const auto condition = range(r);
    if (!condition.empty()) out.properties.emplace_back("Index Cond", condition);
    out.properties.emplace_back("Index", r.index->explain());
    out.properties.emplace_back("Device", r.index->get_device().name());
  }

  [[nodiscard]] description scan(const scan_node& n) const {
    description out;
    const auto table = table_title(n.table->name, n.alias);
    if (n.ranges.empty()) {
      out = {"Seq Scan", "Seq Scan on " + table, {}};
    } else if (n.ranges.size() > 1) {
      out = {"BitmapAnd", fmt::format("Index Intersection of {} indexes on {}", n.ranges.size(), table), {}};
    } else {
      const auto& name = n.ranges[0].index->spec().name;
      out.type = n.index_only ? "Index Only Scan" : "Index Scan";
      out.title = fmt::format("{}{} using {} on {}", out.type,
                              n.ordered && n.order == key_order::descending ? " Backward" : "", name, table);
      out.properties.emplace_back("Index Name", name);
      const bool backward = n.ordered && n.order == key_order::descending;
      out.properties.emplace_back("Scan Direction", backward ? "Backward" : "Forward");
    }
    out.properties.emplace_back("Relation Name", n.table->name);
    out.properties.emplace_back("Alias", n.alias);
    for (const auto& r : n.ranges) add_index(out, r);
    const auto& filters = n.ranges.empty() ? n.conditions : n.residual;
    if (!filters.empty()) out.properties.emplace_back("Filter", list(filters));
    if (!n.ranges.empty()) return out;
    for (const auto& other : n.rejected_indexes) {
      out.properties.emplace_back("Not Used", fmt::format("{}: {} of {} rows, cost={:.3f} ms", other.name, other.rows,
                                                          n.table->version->live_rows(), other.cost / 1e6));
    }
    return out;
  }

  [[nodiscard]] std::string call(const aggregate_call& c) const {
    return fmt::format("{}({}{})", c.function, c.distinct ? "DISTINCT " : "", c.argument ? text(c.argument) : "*");
  }

  [[nodiscard]] description aggregate(const aggregate_node& n) const {
    const char* strategy = n.keys.empty() ? "Plain" : n.in_order ? "Sorted" : "Hashed";
    const char* title = n.keys.empty() ? "Aggregate" : n.in_order ? "GroupAggregate" : "HashAggregate";
    description out{"Aggregate", title, {{"Strategy", strategy}}};
    if (!n.keys.empty()) out.properties.emplace_back("Group Key", list(n.keys, ", "));
    std::string calls;
    for (const auto& c : n.calls) calls += (calls.empty() ? "" : ", ") + call(c);
    if (!calls.empty()) out.properties.emplace_back("Output", calls);
    return out;
  }

  [[nodiscard]] description index_aggregate(const index_aggregate_node& n) const {
    const auto& name = n.range.index->spec().name;
    description out{"Index Only Scan",
                    fmt::format("Aggregate from Index {} on {}", name, table_title(n.table->name, n.alias)),
                    {{"Index Name", name}, {"Relation Name", n.table->name}, {"Alias", n.alias}}};
    std::string calls;
    for (const auto& c : n.calls) calls += (calls.empty() ? "" : ", ") + call(c);
    out.properties.emplace_back("Output", calls);
    out.properties.emplace_back("Rows in Range", std::to_string(n.range.rows));
    add_index(out, n.range);
    return out;
  }

  [[nodiscard]] std::string sort_keys(std::span<const sort_key> all) const {
    std::string keys;
    for (const auto& key : all) {
      keys += (keys.empty() ? "" : ", ") + text(key.value) + (key.descending ? " DESC" : "");
      if (key.nulls_first != key.descending) keys += key.nulls_first ? " NULLS FIRST" : " NULLS LAST";
    }
    return keys;
  }

  [[nodiscard]] description sort(const sort_node& n) const {
    return {
        "Sort", n.limit == no_limit ? "Sort" : fmt::format("Top-{} Sort", n.limit), {{"Sort Key", sort_keys(n.keys)}}};
  }

  [[nodiscard]] std::string bound(frame_bound which, const expr_ptr& offset, const expr_ptr& computed) const {
    constexpr const char* words[] = {"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING",
                                     "UNBOUNDED FOLLOWING"};
    const std::string word = words[static_cast<std::size_t>(which)];
    const auto& by = offset ? offset : computed;
    return by ? text(by) + " " + word : word;
  }

  [[nodiscard]] std::string window_call_text(const window_node& n, const window_call& c) const {
    constexpr const char* units[] = {"ROWS", "RANGE", "GROUPS"};
    const std::span<const sort_key> keys(n.keys);
    std::vector<expr_ptr> partition;
    for (const auto& key : keys.first(c.partition_keys)) partition.push_back(key.value);
    std::string over = partition.empty() ? "" : "PARTITION BY " + list(partition, ", ");
    if (c.order_keys > 0) {
      over += (over.empty() ? "" : " ") + std::string("ORDER BY ") +
              sort_keys(keys.subspan(c.partition_keys, c.order_keys));
    }
    if (!same(c.frame, window_frame{}) || c.range_start || c.range_end) {
      over +=
          fmt::format("{}{} BETWEEN {} AND {}", over.empty() ? "" : " ", units[static_cast<std::size_t>(c.frame.unit)],
                      bound(c.frame.start, c.frame.start_offset, c.range_start),
                      bound(c.frame.end, c.frame.end_offset, c.range_end));
    }
    const bool star = c.function == "count" && c.arguments.empty();
    return fmt::format("{}({}) OVER ({})", c.function, star ? "*" : list(c.arguments, ", "), over);
  }

  // The name is PostgreSQL's.
  [[nodiscard]] description window(const window_node& n) const {
    description out{"WindowAgg", "WindowAgg", {}};
    if (!n.keys.empty()) out.properties.emplace_back("Sort Key", sort_keys(n.keys));
    std::string calls;
    for (const auto& c : n.calls) calls += (calls.empty() ? "" : ", ") + window_call_text(n, c);
    if (!calls.empty()) out.properties.emplace_back("Output", calls);
    return out;
  }

  static std::pair<std::string, std::string> method_names(join_method method) {
    switch (method) {
      case join_method::hash:
        return {"Hash Join", "Hash"};
      case join_method::index_lookup:
        return {"Nested Loop", "Batched Index Lookup"};
      case join_method::index_merge:
        return {"Merge Join", "Index Merge"};
      case join_method::band_index:
        return {"Nested Loop", "Band (batched index ranges)"};
      case join_method::band_sort:
        return {"Merge Join", "Band (sorted)"};
      case join_method::overlap:
        return {"Merge Join", "Overlap (sorted)"};
      case join_method::loop:
        return {"Nested Loop", "Nested Loop"};
    }
    return {};
  }

  static const char* type_name(join_type type) {
    constexpr const char* all[] = {"Inner", "Left", "Full", "Semi", "Anti"};
    return all[static_cast<std::size_t>(type)];
  }

  [[nodiscard]] description join(const join_node& n) const {
    const auto [type, title] = method_names(n.method);
    description out{
        type,
        fmt::format("{} {}Join", title, n.type == join_type::inner ? "" : std::string(type_name(n.type)) + " "),
        {{"Join Type", type_name(n.type)}}};
    std::string equal;
    for (const auto& [left, right] : n.equal) {
      equal += fmt::format("{}{} = {}", equal.empty() ? "" : " AND ", text(left), text(right));
    }
    if (!equal.empty()) out.properties.emplace_back("Hash Cond", equal);
    if (n.lookup) {
      out.properties.emplace_back("Index Name", n.lookup->index->spec().name);
      add_index(out, *n.lookup);
    }
    if (n.left_index) {
      out.properties.emplace_back("Index Names", n.left_index->spec().name + ", " + n.right_index->spec().name);
    }
    if (n.band_value) {
      const auto lo = n.band_lo ? text(n.band_lo) : "-infinity";
      const auto hi = n.band_hi ? text(n.band_hi) : "infinity";
      out.properties.emplace_back("Band Cond", fmt::format("{} between {} and {}", text(n.band_value), lo, hi));
    }
    if (n.overlap) {
      const auto& [ends, order, start_inclusive, finish_inclusive] = *n.overlap;
      const auto of = [&](overlap_condition::role role) { return text(ends[role]); };
      out.properties.emplace_back(
          "Overlap Cond",
          fmt::format("{} {} {} AND {} {} {}", of(overlap_condition::right_start), start_inclusive ? "<=" : "<",
                      of(overlap_condition::left_finish), of(overlap_condition::left_start),
                      finish_inclusive ? "<=" : "<", of(overlap_condition::right_finish)));
    }
    if (!n.residual.empty()) out.properties.emplace_back("Join Filter", list(n.residual));
    return out;
  }

  [[nodiscard]] description window_join(const window_join_node& n) const {
    description out{"Window Join",
                    n.index    ? "Window Join (batched index)"
                    : n.finish ? "Window Join (spans)"
                               : "Window Join",
                    {}};
    std::string condition;
    const auto add = [&](const std::string& part) { condition += (condition.empty() ? "" : " AND ") + part; };
    if (n.lo) add(fmt::format("{} {} {}", text(n.finish ? n.finish : n.at), n.lo_inclusive ? ">=" : ">", text(n.lo)));
    if (n.hi) add(fmt::format("{} {} {}", text(n.at), n.hi_inclusive ? "<=" : "<", text(n.hi)));
    for (const auto& [left, right] : n.equal) add(fmt::format("{} = {}", text(left), text(right)));
    out.properties.emplace_back("Window Cond", condition);
    std::string calls;
    for (const auto& c : n.calls) calls += (calls.empty() ? "" : ", ") + call(c);
    if (!calls.empty()) out.properties.emplace_back("Output", calls);
    if (n.index) add_asked_index(*n.index, out);
    return out;
  }

  static void add_asked_index(const table_index& index, description& out) {
    out.properties.emplace_back("Index Name", index.spec().name);
    out.properties.emplace_back("Index", index.explain());
    out.properties.emplace_back("Device", index.get_device().name());
  }

  [[nodiscard]] description as_of(const as_of_node& n) const {
    description out{
        "Merge Join",
        fmt::format("As-Of {}Join {}", n.keep_unmatched ? "Left " : "", n.index ? "(batched index)" : "(sorted)"),
        {{"Join Type", n.keep_unmatched ? "Left" : "Inner"}}};
    const char* comparison = n.earlier ? (n.strict ? "<" : "<=") : (n.strict ? ">" : ">=");
    std::string condition =
        fmt::format("nearest {} {} {}", text(n.right_at), n.distance ? "to" : comparison, text(n.left_at));
    for (const auto& [left, right] : n.equal) condition += fmt::format(" AND {} = {}", text(left), text(right));
    out.properties.emplace_back("As-Of Cond", condition);
    if (!n.ties.empty()) out.properties.emplace_back("Tie Break", sort_keys(n.ties));
    if (!n.tolerance.empty()) out.properties.emplace_back("Join Filter", list(n.tolerance));
    if (n.index) add_asked_index(*n.index, out);
    return out;
  }

  column_names names_;
};

void write_text(const describer& describe, const plan_node& plan, int depth, std::string& out) {
  const auto what = describe.of(plan);
  const std::string indent(static_cast<std::size_t>(depth) * 6, ' ');
  out += depth == 0 ? what.title : indent.substr(4) + "->  " + what.title;
  out += fmt::format("  (cost={:.3f} ms rows={:.0f})", plan.cost / 1e6, plan.estimate);
  const auto& told = plan.statistics;
  if (told.ran) {
    out += fmt::format(" (actual time={:.3f} ms rows={}{})", told.milliseconds, told.rows,
                       told.bytes > 0 ? fmt::format(" bytes={}", told.bytes) : "");
  }
  out += "\n";
  for (const auto& [name, value] : what.properties) {
    // The title of the node already includes these properties.
    if (name == "Relation Name" || name == "Alias" || name == "Join Type" || name == "Strategy") continue;
    if (name == "Scan Direction") continue;
    const bool names_its_index =
        plan.kind == node_kind::join || plan.kind == node_kind::as_of_join || plan.kind == node_kind::window_join;
    if (name == "Index Name" && !names_its_index) continue;
    out += fmt::format("{}  {}: {}\n", indent, name, value);
  }
  if (plan.kind == node_kind::index_aggregate) return;
  for (const auto& input : plan.inputs) write_text(describe, *input, depth + 1, out);
}

// Plan viewers expect these properties to be lists.
bool is_list(const std::string& property) {
  return property == "Output" || property == "Sort Key" || property == "Group Key";
}

nlohmann::json as_json(const describer& describe, const plan_node& plan) {
  const auto what = describe.of(plan);
  auto out = nlohmann::json::object();
  out["Node Type"] = what.type;
  out["Operation"] = what.title;
  for (const auto& [name, value] : what.properties) {
    if (is_list(name)) {
      if (!out.contains(name)) out[name] = nlohmann::json::array();
      out[name].push_back(value);
    } else {
      out[name] = out.contains(name) ? out[name].get<std::string>() + "; " + value : value;
    }
  }
  out["Startup Cost"] = 0.0;
  out["Total Cost"] = plan.cost / 1e6;
  out["Plan Rows"] = static_cast<std::uint64_t>(plan.estimate);
  out["Plan Width"] = plan.outputs.size() * 8;
  if (plan.statistics.ran) {
    out["Actual Startup Time"] = 0.0;
    out["Actual Total Time"] = plan.statistics.milliseconds;
    out["Actual Rows"] = plan.statistics.rows;
    out["Actual Loops"] = 1;
    out["Bytes Moved"] = plan.statistics.bytes;
  }
  if (plan.kind == node_kind::index_aggregate) return out;
  if (!plan.inputs.empty()) out["Plans"] = nlohmann::json::array();
  for (std::size_t i = 0; i < plan.inputs.size(); ++i) {
    auto input = as_json(describe, *plan.inputs[i]);
    input["Parent Relationship"] = plan.kind == node_kind::union_all ? "Member" : i == 0 ? "Outer" : "Inner";
    out["Plans"].push_back(std::move(input));
  }
  return out;
}

}  // namespace

std::string explain_text(const plan_node& plan, const explain_times& times) {
  std::string out;
  const describer describe(plan);
  write_text(describe, plan, 0, out);
  for (const auto& shared : shared_plans(plan)) {
    out += fmt::format("CTE {}\n", shared->name);
    write_text(describer(*shared->body), *shared->body, 1, out);
  }
  int number = 0;
  for_each_subquery(const_cast<plan_node&>(plan), [&](const plan_ptr& query, const expr&) {
    out += fmt::format("Subquery {}\n", ++number);
    write_text(describer(*query), *query, 1, out);
  });
  out += fmt::format("Planning Time: {:.3f} ms\n", times.planning);
  if (plan.statistics.ran) out += fmt::format("Execution Time: {:.3f} ms\n", times.execution);
  return out;
}

std::string explain_json(const plan_node& plan, const explain_times& times) {
  json_tree all(nlohmann::json::array());
  auto& root = all->emplace_back(nlohmann::json::object());
  root["Plan"] = as_json(describer(plan), plan);
  for (const auto& shared : shared_plans(plan)) {
    auto inner = as_json(describer(*shared->body), *shared->body);
    inner["Parent Relationship"] = "InitPlan";
    inner["Subplan Name"] = "CTE " + shared->name;
    root["Plan"]["Plans"].push_back(std::move(inner));
  }
  int number = 0;
  for_each_subquery(const_cast<plan_node&>(plan), [&](const plan_ptr& query, const expr&) {
    auto inner = as_json(describer(*query), *query);
    inner["Parent Relationship"] = "InitPlan";
    inner["Subplan Name"] = fmt::format("InitPlan {}", ++number);
    root["Plan"]["Plans"].push_back(std::move(inner));
  });
  root["Planning Time"] = times.planning;
  if (plan.statistics.ran) root["Execution Time"] = times.execution;
  return all->dump(2);
}

}  // namespace espalier::engine
