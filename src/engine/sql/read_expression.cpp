#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "engine/error.hpp"
#include "engine/sql/limits.hpp"
#include "engine/sql/node_reader.hpp"
#include "engine/sql/tree_reader.hpp"
#include "engine/sql/unsupported_syntax.hpp"

namespace espalier::engine {
namespace {

using ast::expression_kind;
using ast::expression_ptr;

expression_ptr make(expression_kind kind, int position) {
  auto out = std::make_unique<ast::expression>();
  out->kind = kind;
  out->position = position;
  return out;
}

// PostgreSQL rounds to timestamp(p). The precision is refused, since ignoring it would change results.
void refuse_digits(const ast::type_name& type) {
  if (type.name != "timestamp" || type.modifiers.empty()) return;
  throw_sql_error(type.position, fmt::format("timestamp({}) is not supported; write timestamp, which has microseconds.",
                                             type.modifiers[0]));
}

std::string function_name(node_reader& reader) {
  auto names = reader.strings("funcname");
  if (names.empty()) throw_sql_error(reader.position(), "A function without a name cannot be called.");
  if (names.size() == 2 && names[0] == "pg_catalog") names.erase(names.begin());
  if (names.size() > 1) {
    throw_sql_error(reader.position(),
                    fmt::format("A schema in front of the function '{}' is not supported.", names.back()));
  }
  return names[0];
}

}  // namespace

expression_ptr tree_reader::expression(const nlohmann::json& node, int around) {
  if (++depth_ > limits::nested_expressions) {
    throw_sql_error(codes::too_complex, around, "This expression is nested too deeply; write it in smaller parts.");
  }
  node_reader reader = read_node(node, around);
  const auto kind = reader.kind();
  expression_ptr out;
  if (kind == "A_Const") {
    out = constant(reader);
  } else if (kind == "A_Expr") {
    out = operation(reader);
  } else if (kind == "FuncCall") {
    out = call(reader);
  } else if (kind == "SubLink") {
    out = sublink(reader);
  } else if (kind == "CaseExpr") {
    out = case_when(reader);
  } else {
    out = simple(reader);
  }
  reader.finish();
  --depth_;
  return out;
}

// The parser (15-4.0.0) omits the value of an integer constant from its tree not only if it is 0 but also if it is
// negative, so the value is read from the text. Signs, parentheses and comments may separate the sign and the digits.
std::string tree_reader::negative_or_zero(int position) const {
  std::size_t at = position < 0 ? text_.size() : static_cast<std::size_t>(position);
  while (at < text_.size() && !std::isdigit(static_cast<unsigned char>(text_[at]))) {
    if (text_.substr(at, 2) == "--") {
      at = std::min(text_.find('\n', at), text_.size());
    } else if (text_.substr(at, 2) == "/*") {
      at = std::min(text_.find("*/", at + 2), text_.size() - 2) + 2;
    } else {
      ++at;
    }
  }
  std::string digits;
  while (at < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at]))) digits += text_[at++];
  if (digits.find_first_not_of('0') == std::string::npos) return "0";
  return "-" + digits;
}

expression_ptr tree_reader::constant(node_reader& reader) {
  if (reader.flag("isnull")) return make(expression_kind::null_literal, reader.position());
  if (const auto* value = reader.take("ival")) {
    auto out = make(expression_kind::integer, reader.position());
    node_reader inner("Integer", *value, reader.position());
    const auto* number = inner.take("ival");
    out->text = number ? std::to_string(number->get<std::int64_t>()) : negative_or_zero(reader.position());
    inner.finish();
    return out;
  }
  const std::pair<const char*, expression_kind> texts[] = {{"fval", expression_kind::number},
                                                           {"sval", expression_kind::string}};
  for (const auto& [field, kind] : texts) {
    if (const auto* value = reader.take(field)) {
      auto out = make(kind, reader.position());
      node_reader inner("constant", *value, reader.position());
      out->text = inner.text(field);
      inner.finish();
      return out;
    }
  }
  if (const auto* value = reader.take("boolval")) {
    auto out = make(expression_kind::boolean, reader.position());
    node_reader inner("Boolean", *value, reader.position());
    out->flag = inner.flag("boolval");
    inner.finish();
    return out;
  }
  throw_sql_error(reader.position(), "A bit string is not supported; write a number.");
}

expression_ptr tree_reader::operation(node_reader& reader) {
  const int at = reader.position();
  const std::string kind = reader.text("kind");
  const auto names = reader.strings("name");
  if (names.size() != 1) throw_sql_error(at, "An operator with a schema is not supported.");
  const auto* left = reader.take("lexpr");
  const auto* right = reader.take("rexpr");
  expression_ptr out;
  const auto add = [&](const nlohmann::json* node) {
    if (node) out->args.push_back(expression(*node, at));
  };
  const auto add_list = [&](const nlohmann::json* node) {
    if (!node || !is_node(*node, "List")) throw_sql_error(at, "A list of values was expected here.");
    node_reader items = read_node(*node, at);
    for (const auto* item : items.list("items")) out->args.push_back(expression(*item, at));
    items.finish();
  };
  if (kind == "AEXPR_OP") {
    out = make(expression_kind::op, at);
    out->text = names[0];
    add(left);
    add(right);
  } else if (kind == "AEXPR_IN") {
    out = make(expression_kind::in_list, at);
    out->flag = names[0] == "<>";
    add(left);
    add_list(right);
  } else if (kind == "AEXPR_BETWEEN" || kind == "AEXPR_NOT_BETWEEN") {
    out = make(expression_kind::between, at);
    out->flag = kind == "AEXPR_NOT_BETWEEN";
    add(left);
    add_list(right);
  } else if (kind == "AEXPR_LIKE" || kind == "AEXPR_ILIKE") {
    out = make(expression_kind::like, at);
    out->text = kind == "AEXPR_LIKE" ? "LIKE" : "ILIKE";
    out->flag = names[0].starts_with("!");
    add(left);
    add(right);
  } else if (kind == "AEXPR_DISTINCT" || kind == "AEXPR_NOT_DISTINCT") {
    out = make(expression_kind::distinct_from, at);
    out->flag = kind == "AEXPR_NOT_DISTINCT";
    add(left);
    add(right);
  } else if (kind == "AEXPR_NULLIF") {
    out = make(expression_kind::nullif, at);
    add(left);
    add(right);
  } else {
    throw_sql_error(at, fmt::format("This form of the operator '{}' is not supported.", names[0]));
  }
  return out;
}

expression_ptr tree_reader::call(node_reader& reader) {
  auto out = make(expression_kind::call, reader.position());
  out->text = function_name(reader);
  out->flag = reader.flag("agg_distinct");
  out->number = reader.flag("agg_star") ? 1 : 0;
  reader.drop({"funcformat"});
  for (const auto* arg : reader.list("args")) out->args.push_back(expression(*arg, reader.position()));
  if (const auto* filter = reader.take("agg_filter")) out->filter = expression(*filter, reader.position());
  for (const auto* key : reader.list("agg_order")) out->order.push_back(sort_key(*key, reader.position()));
  out->within_group = reader.flag("agg_within_group");
  if (const auto* over = reader.take("over")) {
    node_reader window_reader("WindowDef", *over, reader.position());
    out->over = std::make_shared<ast::window>(window(window_reader));
  }
  return out;
}

// Reads functions without parentheses, such as CURRENT_DATE.
expression_ptr tree_reader::current_timestamp_name(node_reader& reader) {
  const std::string which = reader.text("op");
  auto out = make(expression_kind::call, reader.position());
  if (which == "SVFOP_CURRENT_DATE") {
    out->text = "current_date";
  } else if (which.starts_with("SVFOP_CURRENT_TIMESTAMP")) {
    out->text = "current_timestamp";
  } else if (which.starts_with("SVFOP_LOCALTIMESTAMP")) {
    out->text = "localtimestamp";
  } else {
    throw_sql_error(out->position, refusal_of("SQLValueFunction"));
  }
  if (which.ends_with("_N")) {
    throw_sql_error(out->position,
                    "A number of digits behind a word for the present moment is not supported; use date_trunc.");
  }
  reader.drop({"type", "typmod"});
  return out;
}

expression_ptr tree_reader::sublink(node_reader& reader) {
  const int at = reader.position();
  const std::string kind = reader.text("subLinkType");
  const auto* test = reader.take("testexpr");
  const auto* query = reader.take("subselect");
  expression_ptr out;
  if (kind == "EXISTS_SUBLINK") {
    out = make(expression_kind::exists, at);
  } else if (kind == "EXPR_SUBLINK") {
    out = make(expression_kind::scalar_query, at);
  } else if (kind == "ANY_SUBLINK") {
    for (const auto& name : reader.strings("operName")) {
      if (name != "=") throw_sql_error(at, "ANY with an operator other than = is not supported; use EXISTS or a join.");
    }
    out = make(expression_kind::in_query, at);
    if (test) out->args.push_back(expression(*test, at));
  } else {
    throw_sql_error(at, refusal_of(kind));
  }
  if (!query) throw_sql_error(at, "A subquery was expected here.");
  out->query = select(*query, at);
  return out;
}

expression_ptr tree_reader::case_when(node_reader& reader) {
  auto out = make(expression_kind::case_when, reader.position());
  const auto* operand = reader.take("arg");
  out->args.push_back(operand ? expression(*operand, reader.position()) : nullptr);
  for (const auto* when : reader.list("args")) {
    node_reader branch = read_node(*when, reader.position());
    for (const char* field : {"expr", "result"}) {
      const auto* part = branch.take(field);
      if (!part) throw_sql_error(branch.position(), "A branch of CASE needs a condition and a result.");
      out->args.push_back(expression(*part, branch.position()));
    }
    branch.finish();
  }
  const auto* otherwise = reader.take("defresult");
  out->args.push_back(otherwise ? expression(*otherwise, reader.position()) : nullptr);
  return out;
}

expression_ptr tree_reader::with_args(node_reader& reader, expression_kind kind, const char* field) {
  auto out = make(kind, reader.position());
  const auto* value = reader.take(field);
  if (!value) return out;
  if (value->is_array()) {
    for (const auto& element : *value) out->args.push_back(expression(element, reader.position()));
  } else {
    out->args.push_back(expression(*value, reader.position()));
  }
  return out;
}

expression_ptr tree_reader::simple(node_reader& reader) {
  const auto kind = reader.kind();
  const int at = reader.position();
  if (kind == "ColumnRef") {
    auto out = make(expression_kind::column, at);
    for (const auto* field : reader.list("fields")) {
      if (is_node(*field, "A_Star")) {
        out->kind = expression_kind::star;
      } else {
        out->names.push_back(string_of(*field));
      }
    }
    const auto place = static_cast<std::size_t>(std::max(at, 0));
    out->flag = place < text_.size() && text_[place] == '"';
    const std::size_t most = out->kind == expression_kind::star ? 1 : 2;
    if (out->names.size() > most) throw_sql_error(at, "A schema in front of a table's name is not supported.");
    return out;
  }
  if (kind == "ParamRef") {
    auto out = make(expression_kind::parameter, at);
    out->number = reader.number("number");
    return out;
  }
  if (kind == "BoolExpr") {
    const std::string op = reader.text("boolop");
    const auto which = op == "AND_EXPR"  ? expression_kind::logical_and
                       : op == "OR_EXPR" ? expression_kind::logical_or
                                         : expression_kind::logical_not;
    return with_args(reader, which, "args");
  }
  if (kind == "NullTest") {
    const bool negated = reader.text("nulltesttype") == "IS_NOT_NULL";
    auto out = with_args(reader, expression_kind::is_null, "arg");
    out->flag = negated;
    return out;
  }
  if (kind == "BooleanTest") {
    const std::string test = reader.text("booltesttype");
    auto out = with_args(reader, expression_kind::truth_test, "arg");
    out->text = test;
    return out;
  }
  if (kind == "CoalesceExpr") return with_args(reader, expression_kind::coalesce, "args");
  if (kind == "MinMaxExpr") {
    const bool greatest = reader.text("op") == "IS_GREATEST";
    auto out = with_args(reader, expression_kind::extreme, "args");
    out->text = greatest ? "greatest" : "least";
    return out;
  }
  if (kind == "TypeCast") {
    const auto* wanted = reader.take("typeName");
    auto out = with_args(reader, expression_kind::cast, "arg");
    if (wanted) out->type = type(*wanted, at);
    if (out->position < 0) out->position = out->type.position;
    return out;
  }
  if (kind == "SQLValueFunction") return current_timestamp_name(reader);
  if (kind == "SetToDefault") return make(expression_kind::use_default, at);
  throw_sql_error(at, refusal_of(kind));
}

ast::type_name tree_reader::type(const nlohmann::json& fields, int around) {
  node_reader reader("TypeName", fields, around);
  ast::type_name out;
  out.position = reader.position();
  auto names = reader.strings("names");
  if (names.size() == 2 && names[0] == "pg_catalog") names.erase(names.begin());
  if (names.size() != 1) throw_sql_error(out.position, "A type with a schema is not supported.");
  out.name = names[0];
  reader.drop({"typemod"});
  for (const auto* modifier : reader.list("typmods")) {
    const auto value = expression(*modifier, out.position);
    if (value->kind != expression_kind::integer)
      throw_sql_error(out.position, "A type takes whole numbers in its parentheses.");
    out.modifiers.push_back(std::stoi(value->text));
  }
  refuse_digits(out);
  reader.finish();
  return out;
}

}  // namespace espalier::engine
