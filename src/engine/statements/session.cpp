#include "engine/statements/session.hpp"

#include <arrow/compute/initialize.h>
#include <fmt/format.h>

#include <chrono>

#include "engine/error.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/sql/hints.hpp"
#include "engine/statements/coded_refusal.hpp"
#include "engine/statements/open_transaction.hpp"
#include "engine/statements/statement_scope.hpp"
#include "engine/store/store.hpp"

namespace espalier::engine {
namespace {

double milliseconds_now() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool changes_something(const ast::statement& statement) {
  if (const auto* const copy = std::get_if<ast::copy>(&statement.body)) return copy->from;
  return !std::holds_alternative<std::shared_ptr<ast::select>>(statement.body) &&
         !std::holds_alternative<ast::explain>(statement.body) &&
         !std::holds_alternative<ast::analyze>(statement.body) &&
         !std::holds_alternative<ast::transaction>(statement.body) &&
         !std::holds_alternative<ast::set_option>(statement.body);
}

}  // namespace

stopwatch::stopwatch(double& total) : total_(total), start_(milliseconds_now()) {}

stopwatch::~stopwatch() { total_ += milliseconds_now() - start_; }

session::session(database_options options) : session(std::move(options), plain_files()) {}

session::session(database_options options, file_layer& files)
    : options_(std::move(options)), device_(options_.device ? *options_.device : device::default_device()) {
  check(arrow::compute::Initialize());
  if (!options_.path.empty()) load(files);
}

session::~session() {
  try {
    write_group();
  } catch (const std::exception&) {
    // Nothing of the group was acknowledged; write_group() has undone it.
  }
  roll_back();
  try {
    save_indexes();
  } catch (const std::exception&) {
    // The tables are stored; indexes that could not be written are rebuilt when the folder is opened.
  }
}

planner_options session::planning() const {
  return {.use_indexes = options_.use_indexes, .prefer_indexes = options_.prefer_indexes, .parameters = {}};
}

std::shared_ptr<const table_entry> session::entry_of(const ast::table_name& name) const {
  auto entry = tables_.find(name.name);
  if (!entry) throw_sql_error(codes::undefined_table, name.position, no_such_table(name.name, tables_));
  return entry;
}

void session::require_usable() const {
  if (store_ && store_->poisoned()) {
    throw engine_error(
        fmt::format("Database '{}' has to be opened again after a failed write.", options_.path.string()),
        codes::io_error);
  }
  if (transaction() == transaction_status::failed) {
    throw engine_error(
        "The transaction has failed because of an error before: statements are ignored until ROLLBACK ends it.",
        codes::failed_transaction);
  }
}

void session::require_changes_allowed() const {
  if (options_.read_only) {
    throw engine_error("The database is open read-only: statements that change it are refused.",
                       codes::read_only_database);
  }
  if (transaction_ && transaction_->read_only) {
    throw engine_error("The transaction was begun READ ONLY: statements that change something are refused.",
                       codes::read_only_database);
  }
}

query_result session::run_set(const ast::set_option& set) {
  const auto limit = set.value ? memory_size(*set.value) : std::nullopt;
  if (set.value && !limit) {
    throw engine_error(
        fmt::format("'{}' is not an amount of memory; write one such as '500MB', '4GB' or '50%'.", *set.value),
        codes::invalid_parameter_value);
  }
  options_.memory_limit = limit;
  query_result out;
  out.tag = set.value ? "SET" : "RESET";
  return out;
}

query_result session::run(const ast::statement& statement, const progress& tell, const cancellation_token& stop) {
  const double group_before = prepare_group_for(statement);
  const statement_scope scope(stop, options_.memory_limit);
  if (!std::holds_alternative<ast::transaction>(statement.body)) require_usable();
  if (changes_something(statement)) require_changes_allowed();
  struct visitor {
    session& self;
    const progress& tell;
    query_result operator()(const std::shared_ptr<ast::select>& s) { return self.run_select(*s, tell); }
    query_result operator()(const ast::create_table& s) { return self.run_create_table(s); }
    query_result operator()(const ast::create_table_as& s) { return self.run_create_table_as(s, tell); }
    query_result operator()(const ast::create_index& s) { return self.run_create_index(s, tell); }
    query_result operator()(const ast::drop& s) { return self.run_drop(s); }
    query_result operator()(const ast::insert& s) { return self.run_insert(s, tell); }
    query_result operator()(const ast::update& s) { return self.run_update(s, tell); }
    query_result operator()(const ast::erase& s) { return self.run_erase(s, tell); }
    query_result operator()(const ast::copy& s) { return self.run_copy(s, tell); }
    query_result operator()(const ast::analyze& s) { return self.run_analyze(s); }
    query_result operator()(const ast::explain& s) { return self.run_explain(s, tell); }
    query_result operator()(const ast::transaction& s) { return self.run_transaction(s); }
    query_result operator()(const ast::set_option& s) { return self.run_set(s); }
  };
  const bool commits = changes_something(statement) || std::holds_alternative<ast::transaction>(statement.body);
  auto out = scope.with_whole_files(commits, [&] { return std::visit(visitor{*this, tell}, statement.body); });
  out.timings.save += group_before + count_in_group();
  return out;
}

}  // namespace espalier::engine
