#include "engine/expr/evaluate.hpp"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/api_vector.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>

#include "engine/error.hpp"
#include "engine/expr/cast.hpp"
#include "engine/expr/decimal_blocks.hpp"
#include "engine/expr/failing.hpp"
#include "engine/expr/fast_compare.hpp"
#include "engine/expr/kernels.hpp"
#include "engine/expr/selection_vector.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/table/gather.hpp"

namespace espalier::engine {
namespace {

namespace compute = arrow::compute;

std::shared_ptr<arrow::Array> as_array(const arrow::Datum& value, std::int64_t rows, int position) {
  if (value.is_array()) return value.make_array();
  require_text_fits(text_bytes(value, rows), position);
  return value_of(arrow::MakeArrayFromScalar(*value.scalar(), rows));
}

// IS [NOT] DISTINCT FROM treats NULL as a value.
arrow::Datum distinct(const expr& e, const arrow::Datum& left, const arrow::Datum& right) {
  const auto equal = compare(op::equal, left, right, e.args[0]->type, e.position);
  const arrow::Datum no(std::make_shared<arrow::BooleanScalar>(false));
  const auto surely_equal = call_kernel("coalesce", {equal, no}, e.position);
  const auto both_null = call_kernel(
      "and", {call_kernel("is_null", {left}, e.position), call_kernel("is_null", {right}, e.position)}, e.position);
  const auto same_value = call_kernel("or", {surely_equal, both_null}, e.position);
  return e.kind == op::is_not_distinct ? same_value : call_kernel("invert", {same_value}, e.position);
}

arrow::Datum truth(const expr& e, const arrow::Datum& value) {
  const bool wants = e.kind == op::is_true || e.kind == op::is_not_true;
  const arrow::Datum otherwise(std::make_shared<arrow::BooleanScalar>(!wants));
  const auto known = call_kernel("coalesce", {value, otherwise}, e.position);
  const bool inverted = (e.kind == op::is_false) || (e.kind == op::is_not_true);
  return inverted ? call_kernel("invert", {known}, e.position) : known;
}

// Translates the pattern to RE2 syntax. A backslash escapes the next character.
std::string like_regex(std::string_view pattern) {
  std::string out = "(?s)^";
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '%') {
      out += ".*";
    } else if (pattern[i] == '_') {
      out += '.';
    } else {
      if (pattern[i] == '\\') ++i;
      const auto byte = static_cast<unsigned char>(pattern[i]);
      if (byte < 0x80 && !std::isalnum(byte)) out += '\\';
      out += pattern[i];
    }
  }
  return out + '$';
}

arrow::Datum match_like(const expr& e, const arrow::Datum& value, const arrow::Datum& pattern) {
  if (!pattern.is_scalar()) throw_sql_error(e.position, "The pattern of LIKE has to be a constant.");
  if (!pattern.scalar()->is_valid) return arrow::MakeNullScalar(arrow::boolean());
  const auto text = pattern.scalar_as<arrow::StringScalar>().value->ToString();
  const auto last = text.find_last_not_of('\\');
  const auto escapes = text.size() - (last == std::string::npos ? 0 : last + 1);
  if (escapes % 2 != 0)
    throw_sql_error(codes::invalid_escape_sequence, e.position,
                    "The pattern of LIKE ends with \\, which takes the character behind it.");
  const bool ignore_case = e.number == 1;
  if (text.find('\\') != std::string::npos) {  // Arrow does not unescape these in patterns such as %a\b%
    const compute::MatchSubstringOptions options(like_regex(text), ignore_case);
    return call_kernel("match_substring_regex", {value}, e.position, &options);
  }
  const compute::MatchSubstringOptions options(text, ignore_case);
  return call_kernel("match_like", {value}, e.position, &options);
}

// As in PostgreSQL, NULLs are ignored (Arrow's skip_nulls). NaN is the greatest value, which Arrow does not implement.
arrow::Datum extreme(const expr& e, const std::vector<arrow::Datum>& args) {
  arrow::Datum best = args[0];
  for (std::size_t i = 1; i < args.size(); ++i) {
    const auto better = compare(e.kind == op::greatest ? op::greater : op::less, args[i], best, e.type, e.position);
    const arrow::Datum no(std::make_shared<arrow::BooleanScalar>(false));
    const auto chosen = call_kernel(
        "or", {call_kernel("coalesce", {better, no}, e.position), call_kernel("is_null", {best}, e.position)},
        e.position);
    best = call_kernel("if_else", {chosen, args[i], best}, e.position);
  }
  return best;
}

arrow::Datum fold_logic(const expr& e, const std::vector<arrow::Datum>& args) {
  arrow::Datum out = args[0];
  for (std::size_t i = 1; i < args.size(); ++i) {
    out = call_kernel(e.kind == op::logical_and ? "and_kleene" : "or_kleene", {out, args[i]}, e.position);
  }
  return out;
}

// Returns an approximate cost per row: numbers are cheapest, then decimals, then texts.
int test_cost(const expr_ptr& e) {
  if (e->kind == op::like) return 100;
  int out = e->kind == op::in_list ? 4 * static_cast<int>(std::min<std::size_t>(e->args.size(), 8)) : 1;
  for (const auto& arg : e->args) {
    out += test_cost(arg);
    if (arg->kind != op::column) continue;
    out += arg->type.id == type_id::varchar ? 10 : arg->type.id == type_id::decimal ? 3 : 0;
  }
  return out;
}

// Groups conditions into steps. The conditions of one step cannot fail for any row, so they may be checked in any
// order, cheap ones first. A condition that may fail is a step on its own.
std::vector<std::vector<expr_ptr>> taken_together(const std::vector<expr_ptr>& conditions) {
  std::vector<std::vector<expr_ptr>> out;
  bool open = false;
  for (const auto& condition : conditions) {
    const bool harmless = cannot_fail(condition);
    if (!harmless || !open) out.emplace_back();
    out.back().push_back(condition);
    open = harmless;
  }
  for (auto& step : out) {
    std::stable_sort(step.begin(), step.end(),
                     [](const expr_ptr& a, const expr_ptr& b) { return test_cost(a) < test_cost(b); });
  }
  return out;
}

bool is_short_text_list(const arrow::ScalarVector& values, const column_type& type) {
  return type.id == type_id::varchar && values.size() <= most_listed_texts &&
         std::all_of(values.begin(), values.end(),
                     [](const auto& value) { return value->is_valid && value->type->id() == arrow::Type::STRING; });
}

batch filtered(const batch& rows, const std::shared_ptr<arrow::Array>& selected) {
  batch out;
  out.ids = rows.ids;
  out.rows = selected->length();
  for (const auto& column : rows.columns) {
    out.columns.push_back(value_of(compute::Take(*column, *selected, compute::TakeOptions::NoBoundsCheck())));
  }
  return out;
}

constexpr std::int64_t few_rows_left = 4;  // filter when at most one in four rows is left

relation without_columns(const relation& rows, const std::set<column_id>& dropped) {
  relation out;
  out.rows = rows.rows;
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    if (!dropped.contains(rows.ids[i])) out.add(rows.ids[i], rows.columns[i]);
  }
  return out;
}

// Keeps the rows for which the mask is true, with the columns that are still needed.
void keep_passing(batch& rows, const std::shared_ptr<arrow::Array>& mask, const std::set<column_id>& wanted) {
  const selection_vector passing(static_cast<const arrow::BooleanArray&>(*mask));
  batch out;
  out.rows = static_cast<std::int64_t>(passing.size());
  for (std::size_t i = 0; i < rows.ids.size(); ++i) {
    if (!wanted.contains(rows.ids[i])) continue;
    out.ids.push_back(rows.ids[i]);
    out.columns.push_back(out.rows == rows.rows ? rows.columns[i] : gathered(rows.columns[i], passing.numbers()));
  }
  rows = std::move(out);
}

// Concatenates the remaining rows of each piece to columns in the shape of `like`.
relation stacked_batches(const relation& like, const std::vector<std::vector<batch>>& pieces) {
  relation out;
  std::vector<const batch*> with_rows;
  for (const auto& parts : pieces) {
    for (const auto& part : parts) {
      out.rows += part.rows;
      if (part.rows > 0) with_rows.push_back(&part);
    }
  }
  for (std::size_t c = 0; c < like.ids.size(); ++c) {
    arrow::ArrayVector chunks;
    for (const auto* part : with_rows) chunks.push_back(part->column(like.ids[c]));
    out.add(like.ids[c], std::make_shared<arrow::ChunkedArray>(std::move(chunks), like.columns[c]->type()));
  }
  return out;
}

// Calls body(begin, batch) for batches that are small enough for the text of their columns and for the text that `body`
// produces. `body` throws `text_overflow` before it has any side effect.
template <class Body>
void for_fitting_batches(const relation& rows, std::int64_t begin, std::int64_t count,
                         const std::set<column_id>& wanted, const Body& body) {
  in_fitting_parts(begin, count, [&](std::int64_t from, std::int64_t length) {
    if (length > 1 && text_bytes(rows, from, length, wanted) > most_text_of_a_batch()) throw text_overflow(-1);
    body(from, slice(rows, from, length, wanted));
  });
}

std::shared_ptr<arrow::Array> numbered_rows(std::int64_t begin, std::int64_t count) {
  auto buffer = std::shared_ptr<arrow::Buffer>(value_of(arrow::AllocateBuffer(count * 8)));
  auto* const numbers = reinterpret_cast<std::int64_t*>(buffer->mutable_data());
  std::iota(numbers, numbers + count, begin);
  return std::make_shared<arrow::Int64Array>(count, std::move(buffer));
}

std::shared_ptr<arrow::Array> int64_array(const std::vector<std::int64_t>& values) {
  arrow::Int64Builder builder;
  check(builder.AppendValues(values));
  return value_of(builder.Finish());
}

}  // namespace

const std::shared_ptr<arrow::ChunkedArray>& evaluation::rows_of_subquery(const expr& e) const {
  if (const auto failed = failed_subqueries.find(e.query.get()); failed != failed_subqueries.end()) {
    std::rethrow_exception(failed->second);
  }
  const auto found = subqueries.find(e.query.get());
  if (found == subqueries.end()) throw_sql_error(e.position, "The engine did not run a subquery; please report it.");
  return found->second;
}

arrow::Datum evaluation::scalar_of(const expr_ptr& e) const {
  if (e->kind == op::literal) return e->value;
  if (e->kind == op::parameter) {
    const auto i = static_cast<std::size_t>(e->number) - 1;
    if (i >= parameters.size())
      throw_sql_error(codes::undefined_parameter, e->position,
                      fmt::format("The parameter ${} has no value here.", e->number));
    return parameters[i];
  }
  const auto& rows = *rows_of_subquery(*e);
  if (e->kind == op::exists_query) return arrow::Datum(rows.length() > 0);
  if (rows.length() > 1) refuse_second_row(e->position);
  if (rows.length() == 0) return arrow::MakeNullScalar(arrow_type(e->type));
  return value_of(rows.GetScalar(0));
}

arrow::Datum evaluation::membership(const expr_ptr& e, const batch& rows) const {
  const auto value = datum(e->args[0], rows);
  const auto is_in = [&](const arrow::Datum& set) {
    // Arrow hashes bit patterns.
    const compute::SetLookupOptions options(canonical_floats(set), compute::SetLookupOptions::INCONCLUSIVE);
    return call_kernel("is_in", {canonical_floats(value)}, e->position, &options);
  };
  if (e->kind == op::in_query) {
    if (rows.rows == 0) return arrow::Datum(false);  // no row reaches the subquery, which may have failed
    const auto& found = rows_of_subquery(*e);
    if (found->length() == 0) return arrow::Datum(false);
    const auto sets = fitting_columns(found);
    auto out = is_in(sets[0]);
    for (std::size_t i = 1; i < sets.size(); ++i) out = call_kernel("or_kleene", {out, is_in(sets[i])}, e->position);
    return out;
  }
  arrow::ScalarVector values;
  for (std::size_t i = 1; i < e->args.size(); ++i) values.push_back(scalar_of(e->args[i]).scalar());
  if (value.is_array() && is_short_text_list(values, e->args[0]->type)) {
    std::vector<std::string_view> texts;
    for (const auto& one : values) texts.push_back(static_cast<const arrow::StringScalar&>(*one).view());
    return texts_among(*value.make_array(), texts);
  }
  const auto builder = value_of(arrow::MakeBuilder(arrow_type(e->args[0]->type)));
  check(builder->AppendScalars(values), e->position);
  return is_in(value_of(builder->Finish()));
}

// CASE and COALESCE evaluate each part only for the rows that reach it, so that a branch may guard another.
arrow::Datum evaluation::lazily(const expr_ptr& e, const batch& rows) const {
  const bool is_case = e->kind == op::case_when;
  std::vector<std::int64_t> open(static_cast<std::size_t>(rows.rows));
  std::iota(open.begin(), open.end(), 0);
  std::vector<std::int64_t> place(open.size(), 0);
  arrow::ArrayVector pieces;
  std::int64_t placed = 0;
  const auto settle = [&](const std::vector<std::int64_t>& which, std::shared_ptr<arrow::Array> values) {
    for (const auto row : which) place[static_cast<std::size_t>(row)] = placed++;
    pieces.push_back(std::move(values));
  };
  const std::size_t step = is_case ? 2 : 1;
  for (std::size_t i = 0; i < e->args.size() && !open.empty(); i += step) {
    const batch here = filtered(rows, int64_array(open));
    const bool last = i + 1 == e->args.size();
    if (last) {
      settle(open, array(e->args[i], here));
      open.clear();
      break;
    }
    const auto tested = array(e->args[i], here);
    std::vector<std::int64_t> taken, taken_here, rest;
    for (std::size_t k = 0; k < open.size(); ++k) {
      const auto row = static_cast<std::int64_t>(k);
      const bool chosen =
          tested->IsValid(row) && (!is_case || static_cast<const arrow::BooleanArray&>(*tested).Value(row));
      (chosen ? taken : rest).push_back(open[k]);
      if (chosen) taken_here.push_back(row);
    }
    const auto selection = int64_array(taken_here);
    if (!taken.empty()) {
      settle(taken,
             is_case ? array(e->args[i + 1], filtered(here, selection)) : value_of(compute::Take(*tested, *selection)));
    }
    open = std::move(rest);
  }
  if (pieces.empty()) return value_of(arrow::MakeEmptyArray(arrow_type(e->type)));
  std::int64_t bytes = 0;
  for (const auto& piece : pieces) bytes += text_bytes(*piece);
  require_text_fits(bytes, e->position);
  const auto all = value_of(arrow::Concatenate(pieces), e->position);
  return value_of(compute::Take(*all, *int64_array(place)));
}

// AND and OR evaluate an operand only for the rows that the preceding ones left undecided, so that one may guard
// another.
arrow::Datum evaluation::logic_in_order(const expr_ptr& e, const batch& rows) const {
  const bool deciding = e->kind == op::logical_or;
  auto out = array(e->args[0], rows);
  for (std::size_t i = 1; i < e->args.size(); ++i) {
    const auto& known = static_cast<const arrow::BooleanArray&>(*out);
    std::vector<std::int64_t> open;
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      if (known.IsNull(row) || known.Value(row) != deciding) open.push_back(row);
    }
    if (open.empty()) break;
    const bool all = open.size() == static_cast<std::size_t>(rows.rows);
    const auto selected = int64_array(open);
    const auto tested = array(e->args[i], all ? rows : filtered(rows, selected));
    const char* const kernel = deciding ? "or_kleene" : "and_kleene";
    if (all) {
      out = as_array(call_kernel(kernel, {out, tested}, e->position), rows.rows, e->position);
      continue;
    }
    const auto before = value_of(compute::Take(*out, *selected, compute::TakeOptions::NoBoundsCheck()));
    const auto decided = as_array(call_kernel(kernel, {before, tested}, e->position), tested->length(), e->position);
    const auto& values = static_cast<const arrow::BooleanArray&>(*decided);
    arrow::BooleanBuilder builder;
    check(builder.Reserve(rows.rows));
    std::size_t next = 0;
    for (std::int64_t row = 0; row < rows.rows; ++row) {
      if (next == open.size() || open[next] != row) {
        builder.UnsafeAppend(deciding);
        continue;
      }
      const auto at = static_cast<std::int64_t>(next++);
      if (values.IsNull(at)) {
        builder.UnsafeAppendNull();
      } else {
        builder.UnsafeAppend(values.Value(at));
      }
    }
    out = value_of(builder.Finish());
  }
  return out;
}

arrow::Datum evaluation::true_where_it_fails(const expr_ptr& condition, const batch& rows) const {
  const auto unless_it_fails = [&](const expr_ptr& e, const batch& some) -> std::shared_ptr<arrow::Array> {
    try {
      return array(e, some);
    } catch (const located_error& error) {
      if (!is_about_values(error)) throw;
    }
    return nullptr;
  };
  if (auto all = unless_it_fails(condition, rows)) return all;
  if (rows.rows <= 1) return arrow::Datum(true);
  std::vector<std::int64_t> open(static_cast<std::size_t>(rows.rows));
  std::iota(open.begin(), open.end(), 0);
  auto known = unless_it_fails(engine::null_where_a_divisor_is_zero(condition), rows);
  if (known) {
    // Where this is NULL, the condition is NULL or fails.
    std::erase_if(open, [&](std::int64_t row) { return known->IsValid(row); });
    if (open.size() == static_cast<std::size_t>(rows.rows)) known = nullptr;
  }
  arrow::ArrayVector parts;
  const auto add = [&](std::span<const std::int64_t> some) {
    const batch part = filtered(rows, int64_array({some.begin(), some.end()}));
    parts.push_back(as_array(true_where_it_fails(condition, part), part.rows, condition->position));
  };
  if (known) {
    add(open);
  } else {
    const auto half = open.size() / 2;
    add(std::span(open).first(half));
    add(std::span(open).subspan(half));
  }
  auto found = value_of(arrow::Concatenate(parts), condition->position);
  if (!known) return found;
  arrow::BooleanBuilder builder;
  check(builder.Reserve(rows.rows));
  const auto& decided = static_cast<const arrow::BooleanArray&>(*known);
  const auto& tested = static_cast<const arrow::BooleanArray&>(*found);
  std::int64_t next = 0;
  for (std::int64_t row = 0; row < rows.rows; ++row) {
    const bool is_open = known->IsNull(row);
    const auto& from = is_open ? tested : decided;
    const auto at = is_open ? next++ : row;
    if (from.IsNull(at)) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(from.Value(at));
    }
  }
  return value_of(builder.Finish());
}

arrow::Datum evaluation::datum(const expr_ptr& e, const batch& rows) const {
  if (e->kind == op::column) return rows.column(e->column);
  auto out = computed(e, rows);
  require_values(out, *arrow_type(e->type), rows.rows, e->position);
  return out;
}

arrow::Datum evaluation::computed(const expr_ptr& e, const batch& rows) const {
  switch (e->kind) {
    case op::scalar_query:
    case op::exists_query:
      if (rows.rows == 0) return arrow::MakeNullScalar(arrow_type(e->type));  // no row reaches the subquery
      return scalar_of(e);
    case op::literal:
    case op::parameter:
      return scalar_of(e);
    case op::function:
      if (is_true_where_it_fails(*e)) return true_where_it_fails(e->args[0], rows);
      break;
    case op::in_list:
    case op::in_query:
      return membership(e, rows);
    case op::case_when:
    case op::coalesce:
      return lazily(e, rows);
    case op::logical_and:
    case op::logical_or:
      if (!std::all_of(e->args.begin() + 1, e->args.end(), cannot_fail)) return logic_in_order(e, rows);
      break;
    case op::aggregate:
      throw_sql_error(e->position, "An aggregate cannot stand here.");
    default:
      break;
  }
  if (is_decimal_arithmetic(*e) && rows.rows > 0) {
    auto values = decimal_block_values(e, rows, [&](const expr_ptr& operand) { return datum(operand, rows); });
    if (values) return values;
  }
  std::vector<arrow::Datum> args;
  args.reserve(e->args.size());
  for (const auto& arg : e->args) args.push_back(datum(arg, rows));
  switch (e->kind) {
    case op::cast:
      return cast(args[0], e->args[0]->type, e->type, e->position);
    case op::negate:
      return call_kernel("negate_checked", args, e->position);
    case op::logical_and:
    case op::logical_or:
      return fold_logic(*e, args);
    case op::logical_not:
      return call_kernel("invert", args, e->position);
    case op::is_null:
      return call_kernel("is_null", args, e->position);
    case op::is_not_null:
      return call_kernel("is_valid", args, e->position);
    case op::is_distinct:
    case op::is_not_distinct:
      return distinct(*e, args[0], args[1]);
    case op::is_true:
    case op::is_not_true:
    case op::is_false:
    case op::is_not_false:
      return truth(*e, args[0]);
    case op::like:
      return match_like(*e, args[0], args[1]);
    case op::greatest:
    case op::least:
      return extreme(*e, args);
    case op::nullif: {
      const auto equal = compare(op::equal, args[0], args[1], e->type, e->position);
      const arrow::Datum no(std::make_shared<arrow::BooleanScalar>(false));
      const auto is_equal = call_kernel("coalesce", {equal, no}, e->position);
      return call_kernel("if_else", {is_equal, arrow::MakeNullScalar(arrow_type(e->type)), args[0]}, e->position);
    }
    case op::function:
      return call_function(*e, args);
    default:
      break;
  }
  if (is_comparison(e->kind)) return compare(e->kind, args[0], args[1], e->args[0]->type, e->position);
  return arithmetic(*e, args[0], args[1]);
}

std::shared_ptr<arrow::Array> evaluation::array(const expr_ptr& e, const batch& rows) const {
  return as_array(datum(e, rows), rows.rows, e->position);
}

std::shared_ptr<arrow::Scalar> evaluation::constant(const expr_ptr& e) const {
  batch one;
  one.rows = 1;
  const auto value = datum(e, one);
  return value.is_scalar() ? value.scalar() : value_of(value.make_array()->GetScalar(0));
}

std::shared_ptr<arrow::ChunkedArray> evaluation::column(const expr_ptr& e, const relation& rows) const {
  if (e->kind == op::column) return rows.column(e->column);
  std::set<column_id> wanted;
  collect_columns(e, wanted);
  std::vector<arrow::ArrayVector> pieces(batch_count(rows.rows));
  for_each_batch(rows.rows, [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    for_fitting_batches(rows, begin, count, wanted,
                        [&](std::int64_t, const batch& part) { pieces[i].push_back(array(e, part)); });
  });
  arrow::ArrayVector chunks;
  for (auto& piece : pieces) std::move(piece.begin(), piece.end(), std::back_inserter(chunks));
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), arrow_type(e->type));
}

relation evaluation::filter(const std::vector<expr_ptr>& conditions, const relation& rows,
                            const std::set<column_id>& dropped, std::optional<column_id> numbers) const {
  auto like = without_columns(rows, dropped);
  if (conditions.empty() || rows.rows == 0) {
    if (numbers) like.add(*numbers, chunked(numbered_rows(0, rows.rows)));
    return like;
  }
  const auto steps = taken_together(conditions);
  // The columns that are needed after each condition: the outputs and those of later conditions.
  std::vector<std::pair<expr_ptr, bool>> tests;  // condition, and whether a step ends with it
  for (const auto& step : steps) {
    for (const auto& condition : step) tests.emplace_back(condition, &condition == &step.back());
  }
  std::vector<std::set<column_id>> wanted(tests.size() + 1);
  for (const auto id : rows.ids) {
    if (!dropped.contains(id)) wanted.back().insert(id);
  }
  if (numbers) {
    wanted.back().insert(*numbers);
    like.add(*numbers, std::make_shared<arrow::ChunkedArray>(arrow::ArrayVector{}, arrow::int64()));
  }
  for (std::size_t i = tests.size(); i-- > 0;) {
    wanted[i] = wanted[i + 1];
    collect_columns(tests[i].first, wanted[i]);
  }
  std::vector<std::vector<batch>> pieces(batch_count(rows.rows));
  for_each_batch(rows.rows, [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    for_fitting_batches(rows, begin, count, wanted[0], [&](std::int64_t from, batch now) {
      if (numbers) now.add(*numbers, numbered_rows(from, now.rows));
      std::shared_ptr<arrow::Array> mask;
      for (std::size_t t = 0; t < tests.size() && now.rows > 0; ++t) {
        const auto& [condition, ends_step] = tests[t];
        auto passes = array(condition, now);
        mask = mask ? call_kernel("and_kleene", {mask, passes}, condition->position).make_array() : std::move(passes);
        // If few rows are left, later conditions are evaluated for these only.
        if (!ends_step && static_cast<const arrow::BooleanArray&>(*mask).true_count() * few_rows_left > now.rows)
          continue;
        keep_passing(now, mask, wanted[t + 1]);
        mask = nullptr;
      }
      pieces[i].push_back(std::move(now));
    });
  });
  return stacked_batches(like, pieces);
}

}  // namespace espalier::engine
