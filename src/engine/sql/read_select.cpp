#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "engine/error.hpp"
#include "engine/sql/limits.hpp"
#include "engine/sql/node_reader.hpp"
#include "engine/sql/tree_reader.hpp"
#include "engine/sql/unsupported_syntax.hpp"

namespace espalier::engine {
namespace {

constexpr int depth_of_a_query = limits::nested_expressions / limits::nested_queries;

void check_keys(const std::vector<const nlohmann::json*>& keys, const char* clause, int around) {
  if (keys.size() <= limits::keys) return;
  throw_sql_error(codes::too_complex, location_in(*keys[limits::keys], around),
                  fmt::format("{} takes at most {} terms.", clause, limits::keys));
}

}  // namespace

std::shared_ptr<ast::select> tree_reader::select(const nlohmann::json& node, int around) {
  const auto first = node.begin();
  const nlohmann::json& fields = is_node(node, "SelectStmt") ? first.value() : node;
  depth_ += depth_of_a_query;
  if (depth_ > limits::nested_expressions) {
    throw_sql_error(codes::too_complex, around, "Queries are nested too deeply; write them as several statements.");
  }
  // A chain of set operations is nested to the left, so searching each of them for its first location would be
  // quadratic.
  const bool combines = fields.contains("larg");
  node_reader reader("SelectStmt", fields, combines ? around : location_in(fields, around));
  auto out = std::make_shared<ast::select>();
  const int at = out->position = reader.position();
  if (const auto* clause = reader.take("withClause")) with(*clause, at, *out);
  for (const auto* element : reader.list("distinctClause")) {
    if (element->empty()) {
      out->distinct = true;
    } else {
      out->distinct_on.push_back(expression(*element, at));
    }
  }
  for (const auto* element : reader.list("targetList")) out->targets.push_back(target(*element, at));
  const auto joins_around = std::exchange(joined_, 0);
  for (const auto* element : reader.list("fromClause")) out->from.push_back(from(*element, at));
  joined_ = joins_around;
  if (const auto* clause = reader.take("whereClause")) out->where = expression(*clause, at);
  const auto groups = reader.list("groupClause");
  check_keys(groups, "GROUP BY", at);
  for (const auto* element : groups) out->group_by.push_back(expression(*element, at));
  if (const auto* clause = reader.take("havingClause")) out->having = expression(*clause, at);
  for (const auto* element : reader.list("windowClause")) {
    node_reader definition = read_node(*element, at);
    out->windows.push_back(window(definition));
  }
  const auto keys = reader.list("sortClause");
  check_keys(keys, "ORDER BY", at);
  for (const auto* element : keys) out->order_by.push_back(sort_key(*element, at));
  reader.only("limitOption", {"LIMIT_OPTION_DEFAULT", "LIMIT_OPTION_COUNT"});
  if (const auto* clause = reader.take("limitCount")) out->limit = expression(*clause, at);
  if (const auto* clause = reader.take("limitOffset")) out->offset = expression(*clause, at);
  for (const auto* row : reader.list("valuesLists")) {
    node_reader items = read_node(*row, at);
    auto& values = out->values.emplace_back();
    for (const auto* item : items.list("items")) values.push_back(expression(*item, at));
    items.finish();
  }
  const std::string set = reader.text("op");
  out->union_all = reader.flag("all");
  const auto* left = reader.take("larg");
  const auto* right = reader.take("rarg");
  if (set == "SETOP_EXCEPT") out->set = ast::select::set_kind::except;
  if (set == "SETOP_INTERSECT") out->set = ast::select::set_kind::intersect;
  if (left && right) {
    if (++set_operations_ > limits::set_operations) {
      throw_sql_error(
          codes::too_complex, at,
          fmt::format("UNION combines at most {} queries; write several statements.", limits::set_operations));
    }
    depth_ -= depth_of_a_query;  // all queries of a chain have the same depth
    out->union_left = select(*left, at);
    depth_ += depth_of_a_query;
    out->union_right = select(*right, at);
    out->position = out->union_left->position;
  }
  reader.finish();
  depth_ -= depth_of_a_query;
  return out;
}

void tree_reader::with(const nlohmann::json& fields, int around, ast::select& out) {
  node_reader reader("WithClause", fields, around);
  for (const auto* element : reader.list("ctes")) {
    node_reader table = read_node(*element, around);
    auto& common = out.with.emplace_back();
    common.position = table.position();
    common.name = table.text("ctename");
    common.column_aliases = table.strings("aliascolnames");
    table.only("ctematerialized", {"CTEMaterializeDefault"});
    const auto* query = table.take("ctequery");
    if (!query || !is_node(*query, "SelectStmt")) throw_sql_error(table.position(), "Only SELECT may stand in WITH.");
    common.query = select(*query, table.position());
    table.finish();
  }
  reader.finish();
}

ast::target tree_reader::target(const nlohmann::json& node, int around) {
  node_reader reader = read_node(node, around);
  ast::target out;
  out.position = reader.position();
  out.name = reader.text("name");
  if (const auto* value = reader.take("val")) out.value = expression(*value, reader.position());
  reader.finish();
  return out;
}

ast::sort_key tree_reader::sort_key(const nlohmann::json& node, int around) {
  node_reader reader = read_node(node, around);
  ast::sort_key out;
  const auto* value = reader.take("node");
  if (!value) throw_sql_error(reader.position(), "ORDER BY needs an expression.");
  out.value = expression(*value, reader.position());
  const std::string direction = reader.text("sortby_dir");
  if (direction == "SORTBY_USING")
    throw_sql_error(out.value->position, "ORDER BY ... USING is not supported; use ASC or DESC.");
  out.descending = direction == "SORTBY_DESC";
  const std::string nulls = reader.text("sortby_nulls");
  if (nulls == "SORTBY_NULLS_FIRST") out.nulls = ast::nulls_order::first;
  if (nulls == "SORTBY_NULLS_LAST") out.nulls = ast::nulls_order::last;
  reader.finish();
  return out;
}

void tree_reader::alias(const nlohmann::json* fields, int around, std::string& name,
                        std::vector<std::string>& columns) {
  if (!fields) return;
  node_reader reader("Alias", *fields, around);
  name = reader.text("aliasname");
  columns = reader.strings("colnames");
  reader.finish();
}

ast::table_name tree_reader::table(const nlohmann::json& fields, int around, std::string* alias_name,
                                   std::vector<std::string>* column_aliases) {
  node_reader reader("RangeVar", fields, around);
  ast::table_name out{reader.text("relname"), reader.position()};
  reader.drop({"inh"});
  reader.only("relpersistence", {"p"});
  std::string name;
  std::vector<std::string> columns;
  if (const auto* given = reader.take("alias")) {
    if (!alias_name) throw_sql_error(out.position, "A second name for the table is not supported here.");
    alias(given, out.position, name, columns);
  }
  if (!columns.empty() && !column_aliases) throw_sql_error(out.position, "Names for columns are not supported here.");
  if (alias_name) *alias_name = name;
  if (column_aliases) *column_aliases = columns;
  reader.finish();
  return out;
}

ast::from_ptr tree_reader::from(const nlohmann::json& node, int around) {
  if (++joined_ > 2 * limits::joined_tables) {  // a join is counted as an item, too
    throw_sql_error(codes::too_complex, around,
                    fmt::format("FROM joins at most {} tables; write several statements.", limits::joined_tables));
  }
  node_reader reader = read_node(node, around);
  auto out = std::make_unique<ast::from_item>();
  out->position = reader.position();
  if (reader.kind() == "RangeVar") {
    out->kind = ast::from_item::what::table;
    out->table = table(node.begin().value(), around, &out->alias, &out->column_aliases);
    return out;
  }
  if (reader.kind() == "JoinExpr") return join(reader);
  if (reader.kind() == "RangeFunction") return function(reader);
  if (reader.kind() != "RangeSubselect") {
    throw_sql_error(location_in(node, around), refusal_of(reader.kind()));
  }
  out->kind = ast::from_item::what::query;
  out->lateral = reader.flag("lateral");
  const auto* query = reader.take("subquery");
  if (!query) throw_sql_error(around, "A subquery was expected here.");
  out->position = location_in(*query, around);
  out->query = select(*query, around);
  alias(reader.take("alias"), out->position, out->alias, out->column_aliases);
  reader.finish();
  return out;
}

ast::from_ptr tree_reader::join(node_reader& reader) {
  auto out = std::make_unique<ast::from_item>();
  out->kind = ast::from_item::what::join;
  const std::string kind = reader.text("jointype");
  const auto* left = reader.take("larg");
  const auto* right = reader.take("rarg");
  if (!left || !right) throw_sql_error(reader.position(), "A join needs two sides.");
  out->left = from(*left, reader.position());
  out->right = from(*right, reader.position());
  out->position = out->right->position;
  if (reader.flag("isNatural"))
    throw_sql_error(out->position, "NATURAL JOIN is not supported; use JOIN ... USING (columns).");
  out->join = kind == "JOIN_LEFT"    ? ast::join_kind::left
              : kind == "JOIN_RIGHT" ? ast::join_kind::right
              : kind == "JOIN_FULL"  ? ast::join_kind::full
                                     : ast::join_kind::inner;
  if (const auto* condition = reader.take("quals")) out->condition = expression(*condition, out->position);
  out->using_columns = reader.strings("usingClause");
  if (reader.take("join_using_alias") || reader.take("alias")) {
    throw_sql_error(out->position, "A name for a whole join is not supported.");
  }
  reader.drop({"rtindex"});
  if (!out->condition && out->using_columns.empty() && out->join == ast::join_kind::inner) {
    out->join = ast::join_kind::cross;
  }
  reader.finish();
  return out;
}

ast::from_ptr tree_reader::function(node_reader& reader) {
  auto out = std::make_unique<ast::from_item>();
  out->kind = ast::from_item::what::function;
  const auto functions = reader.list("functions");
  if (functions.size() != 1) throw_sql_error(reader.position(), "ROWS FROM is not supported.");
  node_reader items = read_node(*functions[0], reader.position());
  const auto list = items.list("items");
  if (list.empty() || !is_node(*list[0], "FuncCall"))
    throw_sql_error(reader.position(), "A function was expected here.");
  for (std::size_t i = 1; i < list.size(); ++i) {
    if (!list[i]->empty())
      throw_sql_error(location_in(*list[i], reader.position()), "Column definitions are not supported here.");
  }
  node_reader call = read_node(*list[0], reader.position());
  out->position = call.position();
  const auto names = call.strings("funcname");
  out->function = names.empty() ? std::string() : names.back();
  call.drop({"funcformat"});
  for (const auto* arg : call.list("args")) {
    if (is_node(*arg, "NamedArgExpr")) {
      node_reader named = read_node(*arg, out->position);
      const auto* value = named.take("arg");
      named.drop({"argnumber"});
      if (!value) throw_sql_error(named.position(), "A named argument needs a value.");
      out->named_args.emplace_back(named.text("name"), expression(*value, named.position()));
      named.finish();
    } else {
      out->args.push_back(expression(*arg, out->position));
    }
  }
  call.finish();
  alias(reader.take("alias"), out->position, out->alias, out->column_aliases);
  reader.finish();
  return out;
}

}  // namespace espalier::engine
