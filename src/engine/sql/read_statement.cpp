#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/error.hpp"
#include "engine/sql/node_reader.hpp"
#include "engine/sql/tree_reader.hpp"
#include "engine/sql/unsupported_syntax.hpp"

namespace espalier::engine {
namespace {

// Options are words, strings, numbers or TRUE; all of them are returned as text.
std::string option_text(const nlohmann::json* arg, int around) {
  if (!arg) return "true";
  node_reader reader = read_node(*arg, around);
  if (reader.kind() == "String") return reader.text("sval");
  if (reader.kind() == "Integer") return std::to_string(reader.number("ival"));
  if (reader.kind() == "Float") return reader.text("fval");
  if (reader.kind() == "Boolean") return reader.flag("boolval") ? "true" : "false";
  throw_sql_error(around, "This value of an option is not supported.");
}

std::vector<std::pair<std::string, std::string>> read_options(node_reader& reader) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto* element : reader.list("options")) {
    node_reader option = read_node(*element, reader.position());
    const std::string name = option.text("defname");
    option.only("defaction", {"DEFELEM_UNSPEC"});
    out.emplace_back(name, option_text(option.take("arg"), option.position()));
    option.finish();
  }
  return out;
}

std::vector<std::string> key_columns(node_reader& reader, const char* field) {
  std::vector<std::string> out;
  for (const auto* element : reader.list(field)) {
    node_reader item = read_node(*element, reader.position());
    if (item.take("expr"))
      throw_sql_error(location_in(*element, reader.position()), "An index is over columns, not expressions.");
    out.push_back(item.text("name"));
    const std::string order = item.text("ordering");
    if (order == "SORTBY_DESC") {
      throw_sql_error(reader.position(),
                      "An index has ascending order and answers ORDER BY ... DESC too; leave DESC out.");
    }
    item.only("ordering", {"SORTBY_DEFAULT", "SORTBY_ASC"});
    item.only("nulls_ordering", {"SORTBY_NULLS_DEFAULT", "SORTBY_NULLS_LAST"});
    item.finish();
  }
  return out;
}

}  // namespace

ast::statement tree_reader::statement(const nlohmann::json& node, int position, int length) {
  ast::statement out;
  out.position = position;
  out.length = length;
  node_reader reader = read_node(node, position);
  const auto kind = reader.kind();
  if (kind == "SelectStmt") {
    out.body = select(node, position);
    return out;
  }
  if (kind == "CreateStmt") {
    out.body = create_table(reader);
  } else if (kind == "CreateTableAsStmt") {
    out.body = create_table_as(reader);
  } else if (kind == "IndexStmt") {
    out.body = create_index(reader);
  } else if (kind == "DropStmt") {
    out.body = drop(reader);
  } else if (kind == "InsertStmt") {
    out.body = insert(reader);
  } else if (kind == "UpdateStmt") {
    out.body = update(reader);
  } else if (kind == "DeleteStmt") {
    out.body = erase(reader);
  } else if (kind == "CopyStmt") {
    out.body = copy(reader);
  } else if (kind == "VacuumStmt") {
    out.body = analyze(reader);
  } else if (kind == "ExplainStmt") {
    out.body = explain(reader);
  } else if (kind == "VariableSetStmt") {
    out.body = set_option(reader);
  } else if (kind == "TransactionStmt") {
    out.body = transaction(reader);
  } else {
    throw_sql_error(position, refusal_of(kind));
  }
  reader.finish();
  return out;
}

ast::set_option tree_reader::set_option(node_reader& reader) {
  ast::set_option out;
  out.name = reader.text("name");
  if (out.name != "memory_limit") {
    throw_sql_error(reader.position(), fmt::format("SET {} is not supported; memory_limit is the only setting.",
                                                   out.name.empty() ? "" : out.name));
  }
  if (reader.flag("is_local")) throw_sql_error(reader.position(), "SET LOCAL is not supported; use SET.");
  reader.only("kind", {"VAR_SET_VALUE", "VAR_SET_DEFAULT", "VAR_RESET"});
  const auto args = reader.list("args");
  if (args.size() > 1) throw_sql_error(reader.position(), "SET takes one value.");
  if (args.empty()) return out;
  const auto value = expression(*args[0], reader.position());
  using enum ast::expression_kind;
  if (value->kind != string && value->kind != integer && value->kind != number) {
    throw_sql_error(value->position, "SET takes a constant, such as '4GB'.");
  }
  out.value = value->text;
  return out;
}

ast::create_table tree_reader::create_table(node_reader& reader) {
  ast::create_table out;
  if (const auto* name = reader.take("relation")) out.table = table(*name, reader.position(), nullptr, nullptr);
  out.if_not_exists = reader.flag("if_not_exists");
  reader.only("oncommit", {"ONCOMMIT_NOOP"});
  for (const auto* element : reader.list("tableElts")) {
    node_reader item = read_node(*element, out.table.position);
    if (item.kind() == "ColumnDef") {
      out.columns.push_back(column(item));
    } else if (item.kind() == "Constraint") {
      auto& key = out.keys.emplace_back();
      const std::string kind = item.text("contype");
      if (kind != "CONSTR_PRIMARY" && kind != "CONSTR_UNIQUE") {
        throw_sql_error(item.position(), "Of the constraints of a table only PRIMARY KEY and UNIQUE are supported.");
      }
      key.primary = kind == "CONSTR_PRIMARY";
      key.name = item.text("conname");
      key.position = item.position();
      key.columns = item.strings("keys");
    } else {
      throw_sql_error(item.position(), "LIKE in CREATE TABLE is not supported; list the columns.");
    }
    item.finish();
  }
  return out;
}

ast::column_definition tree_reader::column(node_reader& reader) {
  ast::column_definition out;
  out.position = reader.position();
  out.name = reader.text("colname");
  reader.drop({"is_local"});
  if (const auto* wanted = reader.take("typeName")) out.type = type(*wanted, out.position);
  for (const auto* element : reader.list("constraints")) {
    node_reader constraint = read_node(*element, out.position);
    const std::string kind = constraint.text("contype");
    const std::string name = constraint.text("conname");
    if (kind == "CONSTR_PRIMARY" || kind == "CONSTR_UNIQUE") out.key_name = name;
    if (kind == "CONSTR_NOTNULL") {
      out.not_null = true;
    } else if (kind == "CONSTR_PRIMARY") {
      out.primary_key = true;
    } else if (kind == "CONSTR_UNIQUE") {
      out.unique = true;
    } else if (kind != "CONSTR_NULL") {
      throw_sql_error(constraint.position(),
                      "Of the constraints of a column only NOT NULL, PRIMARY KEY and UNIQUE are supported.");
    }
    constraint.finish();
  }
  return out;
}

ast::create_table_as tree_reader::create_table_as(node_reader& reader) {
  ast::create_table_as out;
  out.if_not_exists = reader.flag("if_not_exists");
  reader.only("objtype", {"OBJECT_TABLE"});
  if (const auto* into = reader.take("into")) {
    node_reader target_table("IntoClause", *into, reader.position());
    if (const auto* name = target_table.take("rel")) out.table = table(*name, reader.position(), nullptr, nullptr);
    out.columns = target_table.strings("colNames");
    target_table.only("onCommit", {"ONCOMMIT_NOOP"});
    target_table.finish();
  }
  const auto* query = reader.take("query");
  if (!query || !is_node(*query, "SelectStmt")) throw_sql_error(reader.position(), "CREATE TABLE AS needs a SELECT.");
  out.query = select(*query, reader.position());
  return out;
}

ast::create_index tree_reader::create_index(node_reader& reader) {
  ast::create_index out;
  out.name = reader.text("idxname");
  if (const auto* name = reader.take("relation")) out.table = table(*name, reader.position(), nullptr, nullptr);
  out.method = reader.text("accessMethod");
  out.unique = reader.flag("unique");
  out.if_not_exists = reader.flag("if_not_exists");
  if (reader.take("whereClause"))
    throw_sql_error(out.table.position, "An index over some of the rows is not supported.");
  if (reader.take("options")) throw_sql_error(out.table.position, "Options of an index are not supported.");
  out.columns = key_columns(reader, "indexParams");
  out.included = key_columns(reader, "indexIncludingParams");
  return out;
}

ast::drop tree_reader::drop(node_reader& reader) {
  ast::drop out;
  const std::string kind = reader.text("removeType");
  if (kind != "OBJECT_TABLE" && kind != "OBJECT_INDEX") {
    throw_sql_error(reader.position(), "Only tables and indexes can be dropped.");
  }
  out.index = kind == "OBJECT_INDEX";
  out.if_exists = reader.flag("missing_ok");
  reader.only("behavior", {"DROP_RESTRICT"});
  for (const auto* element : reader.list("objects")) {
    node_reader object = read_node(*element, reader.position());
    const auto names = object.strings("items");
    if (names.size() != 1) throw_sql_error(reader.position(), "A schema in front of a name is not supported.");
    out.names.push_back(names[0]);
    object.finish();
  }
  return out;
}

ast::insert tree_reader::insert(node_reader& reader) {
  ast::insert out;
  if (const auto* name = reader.take("relation")) out.table = table(*name, reader.position(), nullptr, nullptr);
  for (const auto* element : reader.list("cols")) out.columns.push_back(target(*element, out.table.position).name);
  reader.only("override", {"OVERRIDING_NOT_SET"});
  const auto* query = reader.take("selectStmt");
  if (!query) throw_sql_error(out.table.position, "INSERT needs VALUES or a SELECT.");
  out.query = select(*query, out.table.position);
  return out;
}

ast::update tree_reader::update(node_reader& reader) {
  ast::update out;
  if (const auto* name = reader.take("relation")) out.table = table(*name, reader.position(), &out.alias, nullptr);
  for (const auto* element : reader.list("targetList")) {
    out.assignments.push_back(target(*element, out.table.position));
  }
  if (const auto* clause = reader.take("whereClause")) out.where = expression(*clause, out.table.position);
  return out;
}

ast::erase tree_reader::erase(node_reader& reader) {
  ast::erase out;
  if (const auto* name = reader.take("relation")) out.table = table(*name, reader.position(), &out.alias, nullptr);
  if (const auto* clause = reader.take("whereClause")) out.where = expression(*clause, out.table.position);
  return out;
}

ast::copy tree_reader::copy(node_reader& reader) {
  ast::copy out;
  if (const auto* name = reader.take("relation")) out.table = table(*name, reader.position(), nullptr, nullptr);
  out.columns = reader.strings("attlist");
  out.from = reader.flag("is_from");
  out.file = reader.text("filename");
  if (out.file.empty()) throw_sql_error(reader.position(), "COPY needs the name of a file.");
  out.options = read_options(reader);
  if (const auto* query = reader.take("query")) out.query = select(*query, reader.position());
  if (reader.take("whereClause"))
    throw_sql_error(reader.position(), "COPY ... WHERE is not supported; use INSERT ... SELECT.");
  return out;
}

ast::analyze tree_reader::analyze(node_reader& reader) {
  if (reader.flag("is_vacuumcmd"))
    throw_sql_error(reader.position(), "VACUUM is not supported; it is not needed either.");
  ast::analyze out;
  for (const auto* element : reader.list("rels")) {
    node_reader relation = read_node(*element, reader.position());
    if (const auto* name = relation.take("relation")) {
      out.tables.push_back(table(*name, reader.position(), nullptr, nullptr));
    }
    relation.finish();
  }
  return out;
}

// Every isolation level is accepted: only one process at a time has a database open for changes, so transactions are
// serializable, and DEFERRABLE has no effect.
ast::transaction tree_reader::transaction(node_reader& reader) {
  ast::transaction out;
  const std::string kind = reader.text("kind");
  if (kind == "TRANS_STMT_COMMIT") {
    out.kind = ast::transaction_kind::commit;
  } else if (kind == "TRANS_STMT_ROLLBACK") {
    out.kind = ast::transaction_kind::rollback;
  } else if (kind == "TRANS_STMT_SAVEPOINT" || kind == "TRANS_STMT_RELEASE" || kind == "TRANS_STMT_ROLLBACK_TO") {
    throw_sql_error(reader.position(), "Savepoints are not supported: ROLLBACK takes back the whole transaction.");
  } else if (kind != "TRANS_STMT_BEGIN" && kind != "TRANS_STMT_START") {
    throw_sql_error(reader.position(), "Transactions of two phases (PREPARE TRANSACTION) are not supported.");
  }
  out.start = kind == "TRANS_STMT_START";
  out.chain = reader.flag("chain");
  for (const auto* element : reader.list("options")) {
    node_reader option = read_node(*element, reader.position());
    const std::string name = option.text("defname");
    option.only("defaction", {"DEFELEM_UNSPEC"});
    const auto* value = option.take("arg");
    if (name == "transaction_read_only") out.read_only = value && expression(*value, option.position())->text == "1";
    option.finish();
  }
  return out;
}

ast::explain tree_reader::explain(node_reader& reader) {
  ast::explain out;
  for (const auto& [name, value] : read_options(reader)) {
    const bool on = value == "true" || value == "on" || value == "1";
    if (name == "analyze") {
      out.analyze = on;
    } else if (name == "format" && (value == "json" || value == "text")) {
      out.json = value == "json";
    } else if (!(on && (name == "costs" || name == "timing" || name == "summary"))) {
      throw_sql_error(reader.position(),
                      fmt::format("EXPLAIN takes ANALYZE and FORMAT text or json; '{}' is not supported.", name));
    }
  }
  const auto* query = reader.take("query");
  if (!query) throw_sql_error(reader.position(), "EXPLAIN needs a statement.");
  out.query = std::make_shared<ast::statement>(statement(*query, location_in(*query, reader.position()), 0));
  return out;
}

}  // namespace espalier::engine
