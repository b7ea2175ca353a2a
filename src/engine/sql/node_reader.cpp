#include "engine/sql/node_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/error.hpp"

namespace espalier::engine {
namespace {

struct refused_clause {
  std::string_view field;  ///< the parser's name
  std::string_view what;   ///< the name in error messages
  std::string_view instead;
};

constexpr std::string_view no_schemas = "all tables are in one place; write the name alone";
constexpr refused_clause refused_clauses[] = {
    {"lockingClause", "FOR UPDATE or FOR SHARE", "no other statement runs meanwhile; remove it"},
    {"windowClause", "WINDOW", "use GROUP BY, or a join with a grouped subquery"},
    {"over", "OVER (a window function)", "use GROUP BY, or a join with a grouped subquery"},
    {"withClause", "WITH", "here; put it in front of the SELECT inside"},
    {"intoClause", "SELECT INTO", "use CREATE TABLE ... AS SELECT"},
    {"agg_filter", "FILTER", "use CASE WHEN ... THEN ... END as the argument of the aggregate"},
    {"agg_order", "ORDER BY inside an aggregate", "order the rows of a subquery in FROM"},
    {"agg_within_group", "WITHIN GROUP", "use ORDER BY with LIMIT and OFFSET"},
    {"func_variadic", "VARIADIC", "list the arguments"},
    {"returningList", "RETURNING", "run a SELECT before or after the statement"},
    {"onConflictClause", "ON CONFLICT", "remove such rows by WHERE NOT EXISTS in INSERT ... SELECT"},
    {"partspec", "PARTITION BY", "use one table, with an index on that column"},
    {"inhRelations", "INHERITS", "list the columns"},
    {"constraints", "This constraint", "PRIMARY KEY, UNIQUE and NOT NULL are"},
    {"whereClause", "WHERE", "here; put it into a SELECT"},
    {"isNatural", "NATURAL JOIN", "use JOIN ... USING (columns)"},
    {"ordinality", "WITH ORDINALITY", "number the rows in the file"},
    {"is_rowsfrom", "ROWS FROM", "name one function"},
    {"coldeflist", "A list of column definitions", "here; use CAST in the SELECT"},
    {"schemaname", "A schema in front of a name", no_schemas},
    {"catalogname", "A database in front of a name", no_schemas},
    {"arrayBounds", "An array type", "use a table with one row for each element"},
    {"setof", "SETOF", "use a table"},
    {"indirection", "A subscript or field access", "use a column for each part"},
    {"collClause", "COLLATE", "text is ordered by its bytes; use lower() or upper() to ignore case"},
    {"collation", "COLLATE", "text is ordered by its bytes; use lower() or upper() to ignore case"},
    {"opclass", "An operator class", "text is ordered by its bytes, as text_pattern_ops does; remove it"},
    {"raw_default", "DEFAULT", "name the value in each INSERT"},
    {"tablespacename", "TABLESPACE", "the folder of --db holds all files"},
    {"is_program", "PROGRAM", "write the program's output to a file first"},
    {"concurrent", "CONCURRENTLY", "no other statement runs meanwhile; remove it"},
    {"recursive", "WITH RECURSIVE", "write its steps as joins"},
    {"nulls_not_distinct", "NULLS NOT DISTINCT", "NULLs are distinct in a unique index; use NOT NULL"},
    {"usingClause", "USING", "here; use WHERE ... IN (SELECT ...)"},
    {"fromClause", "FROM", "here; use subqueries in WHERE"},
    {"groupDistinct", "GROUP BY DISTINCT", "name each key once"},
    {"options", "This option", "remove it"},
    {"relpersistence", "A temporary or unlogged table", "without --db all tables last until the end of the session"},
    {"limitOption", "WITH TIES", "compare with the value of the last row in a subquery"},
    {"ctematerialized", "MATERIALIZED", "remove it; the answer is the same"},
    {"behavior", "CASCADE", "indexes go with their table; remove it"},
    {"objtype", "A materialized view", "use CREATE TABLE ... AS SELECT"},
    {"oncommit", "ON COMMIT", "remove it, and drop the table when it is not needed any more"},
    {"onCommit", "ON COMMIT", "remove it, and drop the table when it is not needed any more"},
    {"override", "OVERRIDING", "remove it; there are no generated columns"},
    {"nulls_ordering", "NULLS FIRST in an index", "an index answers both orders; remove it"},
};

[[noreturn]] void refuse_clause(int position, std::string_view kind, std::string_view field) {
  for (const auto& [name, what, instead] : refused_clauses) {
    if (name != field) continue;
    const bool only_here = instead.starts_with("here;");
    throw_sql_error(position, fmt::format("{} is not supported{}{}.", what, only_here ? " " : "; ", instead));
  }
  throw_sql_error(position,
                  fmt::format("A part of this statement is not supported ('{}' of {}); remove it.", field, kind));
}

}  // namespace

node_reader::node_reader(std::string_view kind, const json& fields, int around)
    : kind_(kind), fields_(fields), position_(around) {
  if (!fields.is_object())
    throw_sql_error(around, fmt::format("The parser's {} node is not one this version reads.", kind));
  const auto found = fields.find("location");
  if (found != fields.end() && found->is_number_integer() && found->get<int>() >= 0) position_ = found->get<int>();
  taken_.insert({"location"});
}

const nlohmann::json* node_reader::take(const char* field) {
  taken_.insert(field);
  const auto found = fields_.find(field);
  return found == fields_.end() ? nullptr : &*found;
}

std::string node_reader::text(const char* field) {
  const json* value = take(field);
  return value && value->is_string() ? value->get<std::string>() : std::string();
}

bool node_reader::flag(const char* field) {
  const json* value = take(field);
  return value && value->is_boolean() && value->get<bool>();
}

int node_reader::number(const char* field, int missing) {
  const json* value = take(field);
  return value && value->is_number_integer() ? value->get<int>() : missing;
}

std::vector<const nlohmann::json*> node_reader::list(const char* field) {
  std::vector<const json*> out;
  const json* value = take(field);
  if (!value || !value->is_array()) return out;
  for (const auto& element : *value) out.push_back(&element);
  return out;
}

std::vector<std::string> node_reader::strings(const char* field) {
  std::vector<std::string> out;
  for (const json* element : list(field)) out.push_back(string_of(*element));
  return out;
}

void node_reader::only(const char* field, std::initializer_list<std::string_view> allowed) {
  const std::string value = text(field);
  if (value.empty() || std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return;
  refuse_clause(position_, kind_, field);
}

void node_reader::drop(std::initializer_list<const char*> fields) { taken_.insert(fields.begin(), fields.end()); }

void node_reader::finish() const {
  for (const auto& [field, value] : fields_.items()) {
    if (taken_.contains(field)) continue;
    refuse_clause(location_in(value, position_), kind_, field);
  }
}

node_reader read_node(const nlohmann::json& node, int around) {
  if (!node.is_object() || node.size() != 1) throw_sql_error(around, "This part of the statement is not supported.");
  const auto first = node.begin();
  return {first.key(), first.value(), around};
}

bool is_node(const nlohmann::json& node, const char* kind) {
  return node.is_object() && node.size() == 1 && node.begin().key() == kind;
}

std::string string_of(const nlohmann::json& node) {
  if (!is_node(node, "String")) throw_sql_error(location_in(node, -1), "A name was expected here.");
  const auto first = node.begin();
  const auto& fields = first.value();
  const auto found = fields.find("sval");
  return found == fields.end() ? std::string() : found->get<std::string>();
}

int location_in(const nlohmann::json& node, int otherwise) {
  // The traversal uses an explicit stack, since syntax trees may be deep.
  std::vector<const nlohmann::json*> open{&node};
  int best = -1;
  while (!open.empty()) {
    const auto* next = open.back();
    open.pop_back();
    if (next->is_object()) {
      const auto found = next->find("location");
      if (found != next->end() && found->is_number_integer() && found->get<int>() >= 0 &&
          (best < 0 || found->get<int>() < best))
        best = found->get<int>();
    }
    if (next->is_structured()) {
      for (const auto& child : *next) open.push_back(&child);
    }
  }
  return best < 0 ? otherwise : best;
}

}  // namespace espalier::engine
