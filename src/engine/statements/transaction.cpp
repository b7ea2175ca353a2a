// transaction.cpp - BEGIN, COMMIT and ROLLBACK, and group commit: consecutive statements share one commit of the store.
//
// A group is an open transaction that the user does not see. Each of its statements is atomic, as any statement is: it
// changes tables and indexes only after everything that can fail. A caller acknowledges statements after their group
// was written, and a statement that reads runs after that as well, so no result reveals what a crash could lose.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>
#include <variant>

#include "engine/error.hpp"
#include "engine/statements/open_transaction.hpp"
#include "engine/statements/session.hpp"
#include "engine/statements/statement_scope.hpp"
#include "engine/store/store.hpp"

namespace espalier::engine {
namespace {

std::int64_t microseconds_since_1970() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()).time_since_epoch().count();
}

// CREATE INDEX writes the index file, which a commit of several statements leaves to save_indexes().
bool shares_a_commit(const ast::statement& statement) {
  if (const auto* const copy = std::get_if<ast::copy>(&statement.body)) return copy->from;
  return std::holds_alternative<ast::insert>(statement.body) || std::holds_alternative<ast::update>(statement.body) ||
         std::holds_alternative<ast::erase>(statement.body) ||
         std::holds_alternative<ast::create_table>(statement.body) ||
         std::holds_alternative<ast::create_table_as>(statement.body) ||
         std::holds_alternative<ast::drop>(statement.body);
}

std::string with_what_was_undone(const std::string& sentence, std::size_t statements) {
  if (statements < 2) return sentence;
  return fmt::format("{} The last {} statements were to be written together and have changed nothing.", sentence,
                     statements);
}

}  // namespace

transaction_status session::transaction() const noexcept {
  if (!transaction_ || transaction_->is_group) return transaction_status::none;
  return transaction_->has_failed ? transaction_status::failed : transaction_status::active;
}

std::uint64_t session::transaction_number() const noexcept {
  return transaction_ && !transaction_->is_group ? transactions_ : 0;
}

std::int64_t session::now() const {
  return transaction_ && !transaction_->is_group ? transaction_->started : microseconds_since_1970();
}

void session::fail_transaction() noexcept {
  if (transaction_ && !transaction_->is_group) transaction_->has_failed = true;
}

void session::begin(bool read_only) {
  auto next = std::make_unique<open_transaction>();
  next->tables = tables_;
  next->files = index_file_versions_;
  next->started = microseconds_since_1970();
  next->read_only = read_only;
  transaction_ = std::move(next);
  ++transactions_;
}

void session::commit_transaction(query_timings& timings) {
  try {
    for (const auto& files : transaction_->used) file_use_scope::add(files);
    if (transaction_->has_changes) write(nullptr, {}, index_files::current, timings);
  } catch (...) {
    roll_back();
    throw;
  }
  transaction_.reset();
}

void session::roll_back() noexcept {
  if (!transaction_) return;
  const auto ended = std::move(transaction_);
  std::swap(tables_, ended->tables);
  std::swap(index_file_versions_, ended->files);
  for (auto& [address, changed] : ended->changed) changed.undo.undo();
  build_broken_indexes();
}

// An index whose changes could not be undone for lack of memory is rebuilt from the rows. If that fails as well, every
// query on it throws; the folder is correct.
void session::build_broken_indexes() noexcept {
  try {
    for (const auto& entry : tables_.all_in_memory()) {
      auto whole = std::make_shared<table_entry>(*entry);
      bool is_changed = false;
      for (auto& index : whole->indexes) {
        if (index->is_whole()) continue;
        index = table_index::build(whole->version, index->spec(), device_);
        is_changed = true;
      }
      if (is_changed) tables_.put(std::move(whole));
    }
  } catch (const std::exception&) {
  }
}

query_result session::run_transaction(const ast::transaction& statement) {
  query_result out;
  if (statement.kind == ast::transaction_kind::begin) {
    out.tag = statement.start ? "START TRANSACTION" : "BEGIN";
    require_usable();
    if (transaction_) {
      out.notices.emplace_back("There is already a transaction in progress.");
    } else {
      begin(statement.read_only);
    }
    return out;
  }
  const bool commits = statement.kind == ast::transaction_kind::commit && transaction() != transaction_status::failed;
  out.tag = commits ? "COMMIT" : "ROLLBACK";
  if (!transaction_) {
    if (statement.chain) {
      throw engine_error("AND CHAIN needs a transaction in progress: there is none.", codes::no_transaction);
    }
    out.notices.emplace_back("There is no transaction in progress.");
    return out;
  }
  if (statement.kind == ast::transaction_kind::commit && !commits) {
    out.notices.emplace_back("The transaction had failed and was rolled back.");
  }
  const bool read_only = transaction_->read_only;
  if (!commits) {
    roll_back();
  } else {
    commit_transaction(out.timings);
  }
  if (statement.chain) begin(read_only);
  return out;
}

bool session::has_group() const noexcept { return transaction_ && transaction_->is_group; }

std::size_t session::unwritten_statements() const noexcept { return has_group() ? transaction_->statements : 0; }

double session::prepare_group_for(const ast::statement& statement) {
  const bool takes = grouping_ != 0 && store_ && !options_.read_only && shares_a_commit(statement);
  if (!takes) return write_group();
  if (transaction_) return 0;
  begin(false);
  transaction_->is_group = true;
  transaction_->opened_at = std::chrono::steady_clock::now();
  return 0;
}

double session::count_in_group() {
  if (!has_group()) return 0;
  ++transaction_->statements;
  const auto age = std::chrono::steady_clock::now() - transaction_->opened_at;
  const bool is_full = transaction_->statements >= group_limits_.statements || age >= group_limits_.time;
  return is_full ? write_group() : 0;
}

double session::write_group() {
  if (!has_group()) return 0;
  const auto statements = transaction_->statements;
  query_timings timings;
  try {
    const cancellation_token to_the_end;
    const statement_scope scope(to_the_end, options_.memory_limit);
    scope.with_whole_files(true, [&] {
      commit_transaction(timings);
      return true;
    });
  } catch (const engine_error& e) {
    undone_statements_ += statements;
    throw engine_error(with_what_was_undone(e.what(), statements), e.code());
  } catch (...) {
    undone_statements_ += statements;
    throw;
  }
  return timings.save;
}

}  // namespace espalier::engine
