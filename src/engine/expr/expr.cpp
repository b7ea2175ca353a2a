#include "engine/expr/expr.hpp"

#include <arrow/scalar.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <unordered_map>

namespace espalier::engine {

expr_ptr make_column(column_id column, const column_type& type, int position) {
  auto out = std::make_shared<expr>();
  out->kind = op::column;
  out->column = column;
  out->type = type;
  out->position = position;
  return out;
}

expr_ptr make_literal(std::shared_ptr<arrow::Scalar> value, const column_type& type, int position) {
  auto out = std::make_shared<expr>();
  out->kind = op::literal;
  out->value = std::move(value);
  out->type = type;
  out->position = position;
  return out;
}

expr_ptr make_null(const column_type& type, int position) {
  return make_literal(arrow::MakeNullScalar(arrow_type(type)), type, position);
}

expr_ptr make_boolean(bool value) {
  return make_literal(std::make_shared<arrow::BooleanScalar>(value), {type_id::boolean});
}

expr_ptr make_call(op kind, const column_type& type, std::vector<expr_ptr> args, int position) {
  auto out = std::make_shared<expr>();
  out->kind = kind;
  out->type = type;
  out->args = std::move(args);
  out->position = position;
  return out;
}

expr_ptr conjunction(const std::vector<expr_ptr>& parts) {
  if (parts.empty()) return make_boolean(true);
  if (parts.size() == 1) return parts[0];
  return make_call(op::logical_and, {type_id::boolean}, parts, parts[0]->position);
}

void split_conjunction(const expr_ptr& condition, std::vector<expr_ptr>& parts) {
  if (condition->kind != op::logical_and) {
    parts.push_back(condition);
    return;
  }
  for (const auto& arg : condition->args) split_conjunction(arg, parts);
}

namespace {

double counted_tree(const expr& e, std::unordered_map<const expr*, double>& known) {
  if (e.args.empty()) return 1;
  if (const auto found = known.find(&e); found != known.end()) return found->second;
  double out = 1;
  for (const auto& arg : e.args) out += counted_tree(*arg, known);
  known.emplace(&e, out);
  return out;
}

}  // namespace

double tree_size(const expr_ptr& e) {
  std::unordered_map<const expr*, double> known;
  return counted_tree(*e, known);
}

namespace {

bool same_or_null(const expr_ptr& a, const expr_ptr& b) { return a && b ? same(*a, *b) : a == b; }

bool same_window(const window_shape* a, const window_shape* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return a->arguments == b->arguments && a->partition_keys == b->partition_keys && a->order_keys == b->order_keys &&
         same(a->frame, b->frame);
}

}  // namespace

bool same(const window_frame& a, const window_frame& b) {
  return a.unit == b.unit && a.start == b.start && a.end == b.end && same_or_null(a.start_offset, b.start_offset) &&
         same_or_null(a.end_offset, b.end_offset);
}

bool same(const expr& a, const expr& b) {
  if (a.kind != b.kind || a.type != b.type || a.column != b.column || a.number != b.number || a.name != b.name ||
      a.query != b.query || a.directions != b.directions || a.args.size() != b.args.size() ||
      !same_window(a.window.get(), b.window.get())) {
    return false;
  }
  if ((a.value == nullptr) != (b.value == nullptr) || (a.value && !a.value->Equals(*b.value))) return false;
  for (std::size_t i = 0; i < a.args.size(); ++i) {
    if (!same(*a.args[i], *b.args[i])) return false;
  }
  return true;
}

bool is_literal(const expr_ptr& e) { return e->kind == op::literal; }

bool is_null_literal(const expr_ptr& e) { return is_literal(e) && !e->value->is_valid; }

bool is_comparison(op kind) { return kind >= op::equal && kind <= op::greater_equal; }

op mirrored(op comparison) {
  switch (comparison) {
    case op::less:
      return op::greater;
    case op::less_equal:
      return op::greater_equal;
    case op::greater:
      return op::less;
    case op::greater_equal:
      return op::less_equal;
    default:
      return comparison;
  }
}

bool any_node(const expr_ptr& e, const std::function<bool(const expr&)>& test) {
  if (test(*e)) return true;
  for (const auto& arg : e->args) {
    if (any_node(arg, test)) return true;
  }
  return false;
}

void collect_columns(const expr_ptr& e, std::set<column_id>& into) {
  if (e->kind == op::column) into.insert(e->column);
  for (const auto& arg : e->args) collect_columns(arg, into);
}

bool has_aggregate(const expr_ptr& e) {
  return any_node(e, [](const expr& node) { return node.kind == op::aggregate; });
}

bool has_window(const expr_ptr& e) {
  return any_node(e, [](const expr& node) { return node.kind == op::window; });
}

bool is_constant(const expr_ptr& e) {
  return !any_node(e, [](const expr& node) {
    return node.kind == op::column || node.kind == op::aggregate || node.kind == op::window || node.query != nullptr;
  });
}

expr_ptr rewrite(const expr_ptr& e, const std::function<expr_ptr(const expr_ptr&)>& change) {
  std::vector<expr_ptr> args;
  args.reserve(e->args.size());
  bool changed = false;
  for (const auto& arg : e->args) {
    args.push_back(rewrite(arg, change));
    changed |= args.back() != arg;
  }
  expr_ptr node = e;
  if (changed) {
    auto copy = std::make_shared<expr>(*e);
    copy->args = std::move(args);
    node = std::move(copy);
  }
  if (auto replaced = change(node)) return replaced;
  return node;
}

namespace {

const char* operator_text(op kind) {
  switch (kind) {
    case op::add:
      return " + ";
    case op::subtract:
      return " - ";
    case op::multiply:
      return " * ";
    case op::divide:
      return " / ";
    case op::modulo:
      return " % ";
    case op::equal:
      return " = ";
    case op::not_equal:
      return " <> ";
    case op::less:
      return " < ";
    case op::less_equal:
      return " <= ";
    case op::greater:
      return " > ";
    case op::greater_equal:
      return " >= ";
    case op::is_distinct:
      return " IS DISTINCT FROM ";
    case op::is_not_distinct:
      return " IS NOT DISTINCT FROM ";
    case op::logical_and:
      return " AND ";
    case op::logical_or:
      return " OR ";
    case op::like:
      return " LIKE ";
    default:
      return nullptr;
  }
}

const char* suffix_text(op kind) {
  switch (kind) {
    case op::is_null:
      return " IS NULL";
    case op::is_not_null:
      return " IS NOT NULL";
    case op::is_true:
      return " IS TRUE";
    case op::is_not_true:
      return " IS NOT TRUE";
    case op::is_false:
      return " IS FALSE";
    case op::is_not_false:
      return " IS NOT FALSE";
    case op::in_query:
      return " IN (subquery)";
    default:
      return nullptr;
  }
}

const char* prefix_text(op kind) {
  switch (kind) {
    case op::negate:
      return "-";
    case op::logical_not:
      return "NOT ";
    default:
      return nullptr;
  }
}

std::string call_name(const expr& e) {
  switch (e.kind) {
    case op::coalesce:
      return "coalesce";
    case op::nullif:
      return "nullif";
    case op::greatest:
      return "greatest";
    case op::least:
      return "least";
    case op::case_when:
      return "case";
    default:
      return e.name;
  }
}

std::string literal_text(const expr& e) {
  if (!e.value->is_valid) return "NULL";
  const bool quoted = e.type.id == type_id::varchar || e.type.id == type_id::date || e.type.id == type_id::timestamp;
  return quoted ? fmt::format("'{}'", e.value->ToString()) : e.value->ToString();
}

}  // namespace

std::string to_text(const expr_ptr& e, const std::function<std::string(column_id)>& name_of) {
  const auto part = [&](std::size_t i) { return to_text(e->args[i], name_of); };
  const auto joined = [&](const char* between, std::size_t from) {
    std::string out;
    for (std::size_t i = from; i < e->args.size(); ++i) out += (i > from ? between : "") + part(i);
    return out;
  };
  if (e->kind == op::column) return name_of(e->column);
  if (e->kind == op::literal) return literal_text(*e);
  if (e->kind == op::parameter) return fmt::format("${}", e->number);
  if (e->kind == op::cast) return fmt::format("{}::{}", part(0), sql_name(e->type));
  if (e->kind == op::scalar_query || e->kind == op::exists_query) return "(subquery)";
  if (e->kind == op::in_list) return fmt::format("{} IN ({})", part(0), joined(", ", 1));
  if (const char* between = operator_text(e->kind)) return fmt::format("({})", joined(between, 0));
  if (const char* prefix = prefix_text(e->kind)) return prefix + part(0);
  if (const char* suffix = suffix_text(e->kind)) return part(0) + suffix;
  return fmt::format("{}({})", call_name(*e), joined(", ", 0));
}

}  // namespace espalier::engine
