#include <arrow/builder.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/plan/explain.hpp"
#include "engine/sql/binder.hpp"
#include "engine/statements/coded_refusal.hpp"
#include "engine/statements/session.hpp"

namespace espalier::engine {
namespace {

std::shared_ptr<arrow::Table> text_rows(const std::string& text, bool as_lines) {
  arrow::StringBuilder builder;
  std::size_t at = 0;
  while (at < text.size()) {
    const auto end = as_lines ? std::min(text.find('\n', at), text.size()) : text.size();
    check(builder.Append(text.substr(at, end - at)));
    at = end + 1;
  }
  const auto schema = arrow::schema({arrow::field("QUERY PLAN", arrow::utf8())});
  return arrow::Table::Make(schema, {value_of(builder.Finish())});
}

void refuse_parameters(const binder& binds) {
  if (binds.parameters() > 0) throw_sql_error(-1, "A statement with parameters ($1) has to be prepared.");
}

}  // namespace

std::shared_ptr<arrow::Table> session::rows_of(const ast::select& select, const progress& tell,
                                               query_timings& timings) {
  plan_ptr plan;
  {
    const stopwatch watch(timings.plan);
    binder binds(tables_, tell, context());
    plan = optimized(binds.query(select), planning());
    refuse_parameters(binds);
  }
  const stopwatch watch(timings.run);
  return while_running([&] { return executor().table(*plan); });
}

query_result session::run_select(const ast::select& select, const progress& tell) {
  query_result out;
  out.rows = rows_of(select, tell, out.timings);
  out.tag = fmt::format("SELECT {}", out.rows->num_rows());
  return out;
}

query_result session::run_explain(const ast::explain& explain, const progress& tell) {
  const auto* select = std::get_if<std::shared_ptr<ast::select>>(&explain.query->body);
  if (!select) throw_sql_error(explain.query->position, "EXPLAIN takes a SELECT.");
  query_result out;
  explain_times times;
  plan_ptr plan;
  {
    const stopwatch watch(times.planning);
    binder binds(tables_, tell, context());
    plan = optimized(binds.query(**select), planning());
    if (explain.analyze) refuse_parameters(binds);
  }
  if (explain.analyze) {
    const stopwatch watch(times.execution);
    (void)while_running([&] { return executor().run(*plan); });
  }
  out.plan = explain.json ? explain_json(*plan, times) : explain_text(*plan, times);
  out.rows = text_rows(out.plan, !explain.json);
  out.tag = "EXPLAIN";
  out.timings.plan = times.planning;
  out.timings.run = times.execution;
  return out;
}

}  // namespace espalier::engine
