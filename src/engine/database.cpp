#include "espalier/engine/database.hpp"

#include <fmt/format.h>

#include <new>

#include "engine/sql/binder.hpp"
#include "engine/sql/error.hpp"
#include "engine/sql/parse.hpp"
#include "engine/statements/batch.hpp"
#include "engine/statements/session.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace detail {

class database_state {
 public:
  explicit database_state(database_options options) : open(std::move(options)) {}
  session open;
};

class prepared_state {
 public:
  session* open = nullptr;
  std::string text;
  std::vector<ast::statement> statements;
  std::size_t parameters = 0;

  [[nodiscard]] const ast::select& select() const {
    return *std::get<std::shared_ptr<ast::select>>(statements[0].body);
  }
};

}  // namespace detail

namespace {

// Errors inside the engine know a place, not the text.
template <class Body>
auto with_text(std::string_view text, const Body& body) {
  try {
    return body();
  } catch (const located_error& e) {
    throw sql_error(e.what(), text, e.position() < 0 ? std::nullopt : std::optional<std::size_t>(e.position()));
  } catch (const std::bad_alloc&) {
    throw error("Memory ran out while the statement ran; nothing was changed. Ask for fewer rows or columns at once.");
  }
}

std::vector<ast::statement> parsed(std::string_view sql, double& milliseconds) {
  const stopwatch watch(milliseconds);
  return with_text(sql, [&] { return parse(sql); });
}

ast::statement one_statement(std::string_view sql, double& milliseconds) {
  auto statements = parsed(sql, milliseconds);
  if (statements.empty()) throw sql_error("There is no statement here.", sql, std::nullopt);
  if (statements.size() > 1) {
    throw sql_error("Only one statement can be run at a time here.", sql,
                    static_cast<std::size_t>(statements[1].position));
  }
  return std::move(statements[0]);
}

}  // namespace

database::database(database_options options) : state_(std::make_unique<detail::database_state>(std::move(options))) {}
database::database(database&&) noexcept = default;
database& database::operator=(database&&) noexcept = default;
database::~database() = default;

query_result database::execute(std::string_view sql, const progress& tell, const stop_question& stop) {
  double parse_time = 0;
  const auto statement = one_statement(sql, parse_time);
  auto out = with_text(sql, [&] { return state_->open.run(statement, tell, stop); });
  out.timings.parse = parse_time;
  return out;
}

std::vector<query_result> database::run_script(std::string_view sql, const progress& tell, const stop_question& stop) {
  double parse_time = 0;
  const auto statements = parsed(sql, parse_time);
  std::vector<query_result> out;
  for (const auto& statement : statements) {
    out.push_back(with_text(sql, [&] { return state_->open.run(statement, tell, stop); }));
    out.back().timings.parse = parse_time / static_cast<double>(statements.size());
  }
  state_->open.save_indexes();
  return out;
}

prepared database::prepare(std::string_view sql) {
  auto state = std::make_unique<detail::prepared_state>();
  double parse_time = 0;
  state->open = &state_->open;
  state->text = sql;
  state->statements.push_back(one_statement(sql, parse_time));
  if (!std::holds_alternative<std::shared_ptr<ast::select>>(state->statements[0].body)) {
    throw sql_error("Only SELECT can be prepared.", sql, static_cast<std::size_t>(state->statements[0].position));
  }
  state->parameters = with_text(sql, [&] {
    binder binds(state->open->tables(), {});
    (void)binds.query(state->select());
    return static_cast<std::size_t>(binds.parameters());
  });
  return prepared(std::move(state));
}

const catalog& database::tables() const { return state_->open.tables(); }
const espalier::device& database::where() const { return state_->open.where(); }
const std::vector<std::string>& database::warnings() const { return state_->open.warnings(); }

prepared::prepared(std::unique_ptr<detail::prepared_state> state) : state_(std::move(state)) {}
prepared::prepared(prepared&&) noexcept = default;
prepared& prepared::operator=(prepared&&) noexcept = default;
prepared::~prepared() = default;

std::size_t prepared::parameters() const { return state_->parameters; }

query_result prepared::execute(const arrow::Table& parameters, const stop_question& stop) {
  const stop_scope scope(&stop);
  return with_text(state_->text, [&] { return run_batch(*state_->open, state_->select(), parameters); });
}

}  // namespace espalier::engine
