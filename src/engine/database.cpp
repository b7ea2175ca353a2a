#include "espalier/engine/database.hpp"

#include <arrow/util/utf8.h>
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <new>

#include "engine/deep_stack.hpp"
#include "engine/error.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/parse.hpp"
#include "engine/statements/coded_refusal.hpp"
#include "engine/statements/parameter_batch.hpp"
#include "engine/statements/session.hpp"
#include "engine/statements/statement_scope.hpp"

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

  prepared_state() = default;
  prepared_state(const prepared_state&) = delete;
  prepared_state& operator=(const prepared_state&) = delete;
  ~prepared_state() {
    try {
      with_deep_stack(nesting_bytes(text), [this] { statements.clear(); });
    } catch (const std::exception&) {
      // If no thread can be started, or there is no memory for it, the vector's destructor frees it here.
    }
  }

  [[nodiscard]] const ast::select& select() const {
    return *std::get<std::shared_ptr<ast::select>>(statements[0].body);
  }
};

}  // namespace detail

namespace {

// Replaces an exception that a caller's own function has thrown, which is not one of the engine's errors.
struct caller_has_thrown {
  std::exception_ptr what;
};

progress guarded(const progress& tell) {
  if (!tell) return {};
  return [&tell](std::string_view what, std::uint64_t done, std::uint64_t total) {
    try {
      tell(what, done, total);
    } catch (...) {
      throw caller_has_thrown{std::current_exception()};
    }
  };
}

// Rethrows an exception as an error type of the public API. Internal errors have a position, but not the text.
[[noreturn]] void throw_as_sql_error(std::string_view text, const error_code& otherwise) {
  const auto fail = [&](const std::string& sentence, const error_code& code, int position = -1) {
    throw sql_error(sentence, text, position < 0 ? std::nullopt : std::optional<std::size_t>(position), code);
  };
  try {
    throw;
  } catch (const caller_has_thrown& e) {
    std::rethrow_exception(e.what);
  } catch (const query_cancelled&) {
    throw;
  } catch (const sql_error&) {
    throw;
  } catch (const coded_refusal& e) {
    fail(e.what(), e.code(), e.position());
  } catch (const located_error& e) {
    fail(e.what(), otherwise, e.position());
  } catch (const engine_error& e) {
    fail(e.what(), e.code());
  } catch (const unique_violation& e) {
    fail(e.what(), codes::unique_violation);
  } catch (const out_of_memory& e) {
    fail(e.what(), codes::out_of_memory);
  } catch (const error& e) {
    fail(e.what(), otherwise);
  } catch (const std::bad_alloc&) {
    fail("Memory ran out while the statement ran; nothing was changed. Ask for fewer rows or columns at once.",
         codes::out_of_memory);
  } catch (const std::filesystem::filesystem_error& e) {
    fail(fmt::format("'{}' cannot be used: {}.", e.path1().string(), e.code().message()), codes::io_error);
  } catch (const std::exception& e) {
    fail(fmt::format("Internal error ({}); nothing was changed. Please report it.", e.what()), codes::internal_error);
  }
  std::abort();  // unreachable
}

template <class Body>
auto with_text(std::string_view text, const Body& body, const error_code& otherwise = codes::refused_statement) {
  try {
    return body();
  } catch (...) {
    throw_as_sql_error(text, otherwise);
  }
}

template <class Body>
void on_deep_stack(std::string_view text, const Body& body) {
  try {
    with_deep_stack(nesting_bytes(text), std::cref(body));  // a std::function of a reference does not allocate
  } catch (const sql_error&) {
    throw;
  } catch (const engine_error& e) {
    throw sql_error(e.what(), text, std::nullopt, e.code());
  } catch (const std::bad_alloc&) {  // before or behind what translates errors
    throw sql_error("Memory ran out while the statement ran.", text, std::nullopt, codes::out_of_memory);
  }
}

std::vector<ast::statement> parsed(std::string_view sql, double& milliseconds) {
  arrow::util::InitializeUTF8();
  const stopwatch watch(milliseconds);
  return with_text(
      sql,
      [&] {
        if (!arrow::util::ValidateUTF8(sql))
          throw_sql_error(codes::invalid_text, -1, "The statement is not valid UTF-8.");
        return parse(sql);
      },
      codes::feature_not_supported);
}

// As in PostgreSQL, a statement that throws for any reason fails its transaction.
class failure_guard {
 public:
  explicit failure_guard(session& open) : open_(open) {}
  failure_guard(const failure_guard&) = delete;
  failure_guard& operator=(const failure_guard&) = delete;
  ~failure_guard() {
    if (std::uncaught_exceptions() > before_) open_.fail_transaction();
  }

 private:
  session& open_;
  int before_ = std::uncaught_exceptions();
};

// Rolls back a transaction that a script has started and left open.
class script_scope {
 public:
  explicit script_scope(session& open) : open_(open), outer_(open.transaction_number()) {}
  script_scope(const script_scope&) = delete;
  script_scope& operator=(const script_scope&) = delete;
  ~script_scope() {
    if (has_open_transaction()) open_.roll_back();
  }
  [[nodiscard]] bool has_open_transaction() const {
    return open_.transaction_number() != 0 && open_.transaction_number() != outer_;
  }

 private:
  session& open_;
  std::uint64_t outer_;
};

ast::statement one_statement(std::string_view sql, double& milliseconds) {
  auto statements = parsed(sql, milliseconds);
  if (statements.empty()) throw sql_error("There is no statement here.", sql, std::nullopt, codes::syntax_error);
  if (statements.size() > 1) {
    throw sql_error("Only one statement can be run at a time here.", sql,
                    static_cast<std::size_t>(statements[1].position), codes::syntax_error);
  }
  return std::move(statements[0]);
}

}  // namespace

database::database(database_options options) try
    : state_(std::make_unique<detail::database_state>(std::move(options))) {
} catch (const std::filesystem::filesystem_error& e) {
  throw engine_error(fmt::format("'{}' cannot be used: {}.", e.path1().string(), e.code().message()), codes::io_error);
} catch (const std::bad_alloc&) {
  throw engine_error("Memory ran out while the database was opened.", codes::out_of_memory);
}
database::database(database&&) noexcept = default;
database& database::operator=(database&&) noexcept = default;
database::~database() = default;

query_result database::execute(std::string_view sql, const progress& tell, const cancellation_token& stop) {
  const failure_guard in_transaction(state_->open);
  query_result out;
  on_deep_stack(sql, [&] {
    double parse_time = 0;
    const auto statement = one_statement(sql, parse_time);
    out = with_text(sql, [&] { return state_->open.run(statement, guarded(tell), stop); });
    out.timings.parse = parse_time;
  });
  return out;
}

std::vector<query_result> database::run_script(std::string_view sql, const progress& tell,
                                               const cancellation_token& stop) {
  const failure_guard in_transaction(state_->open);
  const script_scope own_transactions(state_->open);
  std::vector<query_result> out;
  commit_group together(*this);
  for (const auto& statement : split_script(sql)) {
    try {
      out.push_back(execute(statement.text, tell, stop));
    } catch (const sql_error& e) {
      together.write();
      if (!e.position()) throw;
      throw sql_error(e.sentence(), sql, statement.offset + *e.position(), e.code());
    } catch (...) {
      together.write();
      throw;
    }
  }
  together.write();
  if (own_transactions.has_open_transaction()) {
    state_->open.roll_back();
    out.back().notices.emplace_back("The script ended inside a transaction, which was rolled back.");
  }
  save_indexes();
  return out;
}

void database::save_indexes() {
  with_text("", [&] { state_->open.save_indexes(); });
}

prepared database::prepare(std::string_view sql) {
  const failure_guard in_transaction(state_->open);
  auto state = std::make_unique<detail::prepared_state>();
  state->open = &state_->open;
  state->text = sql;
  on_deep_stack(sql, [&] {
    double parse_time = 0;
    state->statements.push_back(one_statement(sql, parse_time));
    if (!std::holds_alternative<std::shared_ptr<ast::select>>(state->statements[0].body)) {
      throw sql_error("Only SELECT can be prepared.", sql, static_cast<std::size_t>(state->statements[0].position));
    }
    state->parameters = with_text(sql, [&] {
      binder binds(state->open->tables(), {}, state->open->context());
      (void)binds.query(state->select());
      return static_cast<std::size_t>(binds.parameters());
    });
  });
  return prepared(std::move(state));
}

commit_group::commit_group(database& db)
    : state_(db.state_.get()), undone_before_(state_->open.undone_statements()) {
  state_->open.start_grouping();
}

commit_group::~commit_group() {
  try {
    state_->open.write_group();
  } catch (const std::exception&) {
  }
  state_->open.end_grouping();
}

std::size_t commit_group::unwritten() const { return state_->open.unwritten_statements(); }
std::uint64_t commit_group::undone() const { return state_->open.undone_statements() - undone_before_; }
double commit_group::write() {
  return with_text("", [&] { return state_->open.write_group(); });
}

const catalog& database::tables() const { return state_->open.tables(); }
const espalier::device& database::get_device() const { return state_->open.get_device(); }
transaction_status database::transaction() const { return state_->open.transaction(); }
const std::vector<std::string>& database::warnings() const { return state_->open.warnings(); }

prepared::prepared(std::unique_ptr<detail::prepared_state> state) : state_(std::move(state)) {}
prepared::prepared(prepared&&) noexcept = default;
prepared& prepared::operator=(prepared&&) noexcept = default;
prepared::~prepared() = default;

std::size_t prepared::parameters() const { return state_->parameters; }

query_result prepared::execute(const arrow::Table& parameters, const cancellation_token& stop) {
  const failure_guard in_transaction(*state_->open);
  query_result out;
  on_deep_stack(state_->text, [&] {
    with_text(state_->text, [&] { return state_->open->write_group(); });
    const statement_scope scope(stop, state_->open->memory_limit());
    out = with_text(state_->text, [&] {
      return scope.with_whole_files(false, [&] { return run_batch(*state_->open, state_->select(), parameters); });
    });
  });
  return out;
}

}  // namespace espalier::engine
