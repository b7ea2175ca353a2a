#include "engine/sql/node_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/sql/error.hpp"

namespace espalier::engine {
namespace {

// What users call the parts of the grammar that are refused most.
std::string clause_name(std::string_view kind, std::string_view field) {
  static constexpr std::pair<std::string_view, std::string_view> names[] = {
      {"lockingClause", "FOR UPDATE and FOR SHARE"},
      {"windowClause", "WINDOW"},
      {"over", "OVER (window functions)"},
      {"withClause", "WITH here"},
      {"intoClause", "SELECT INTO"},
      {"agg_filter", "FILTER"},
      {"agg_order", "ORDER BY inside an aggregate"},
      {"agg_within_group", "WITHIN GROUP"},
      {"func_variadic", "VARIADIC"},
      {"returningList", "RETURNING"},
      {"onConflictClause", "ON CONFLICT"},
      {"partspec", "PARTITION BY"},
      {"inhRelations", "INHERITS"},
      {"constraints", "This constraint"},
      {"whereClause", "WHERE here"},
      {"isNatural", "NATURAL JOIN"},
      {"ordinality", "WITH ORDINALITY"},
      {"is_rowsfrom", "ROWS FROM"},
      {"coldeflist", "A list of column definitions here"},
      {"schemaname", "A schema in front of a name"},
      {"catalogname", "A database in front of a name"},
      {"arrayBounds", "An array type"},
      {"setof", "SETOF"},
      {"indirection", "A subscript or field access"},
      {"collClause", "COLLATE"},
      {"collation", "COLLATE"},
      {"opclass", "An operator class"},
      {"raw_default", "DEFAULT"},
      {"tablespacename", "TABLESPACE"},
      {"is_program", "PROGRAM"},
      {"concurrent", "CONCURRENTLY"},
      {"recursive", "WITH RECURSIVE"},
      {"nulls_not_distinct", "NULLS NOT DISTINCT"},
      {"usingClause", "USING here"},
      {"fromClause", "FROM here"},
      {"groupDistinct", "GROUP BY DISTINCT"},
      {"options", "This option"},
      {"relpersistence", "A temporary or unlogged table"},
      {"limitOption", "WITH TIES"},
      {"ctematerialized", "MATERIALIZED"},
      {"behavior", "CASCADE"},
      {"objtype", "A materialized view"},
      {"oncommit", "ON COMMIT"},
      {"onCommit", "ON COMMIT"},
      {"override", "OVERRIDING"},
      {"nulls_ordering", "NULLS FIRST in an index"},
  };
  for (const auto& [name, words] : names) {
    if (name == field) return std::string(words);
  }
  return fmt::format("'{}' of {}", field, kind);
}

}  // namespace

node_reader::node_reader(std::string_view kind, const json& fields, int around)
    : kind_(kind), fields_(fields), position_(around) {
  if (!fields.is_object()) refuse(around, fmt::format("The parser's {} node is not one this version reads.", kind));
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
  refuse(position_, fmt::format("{} is not supported; leave it out.", clause_name(kind_, field)));
}

void node_reader::drop(std::initializer_list<const char*> fields) { taken_.insert(fields.begin(), fields.end()); }

void node_reader::finish() const {
  for (const auto& [field, value] : fields_.items()) {
    if (taken_.contains(field)) continue;
    refuse(location_in(value, position_), fmt::format("{} is not supported; leave it out.", clause_name(kind_, field)));
  }
}

node_reader read_node(const nlohmann::json& node, int around) {
  if (!node.is_object() || node.size() != 1) refuse(around, "This part of the statement is not supported.");
  const auto first = node.begin();
  return {first.key(), first.value(), around};
}

bool is_node(const nlohmann::json& node, const char* kind) {
  return node.is_object() && node.size() == 1 && node.begin().key() == kind;
}

std::string string_of(const nlohmann::json& node) {
  if (!is_node(node, "String")) refuse(location_in(node, -1), "A name was expected here.");
  const auto first = node.begin();
  const auto& fields = first.value();
  const auto found = fields.find("sval");
  return found == fields.end() ? std::string() : found->get<std::string>();
}

int location_in(const nlohmann::json& node, int otherwise) {
  // A stack of its own: trees of statements may be deep.
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
