// transaction.cpp - BEGIN, COMMIT and ROLLBACK.
#include <chrono>
#include <utility>

#include "engine/statements/open_transaction.hpp"
#include "engine/statements/session.hpp"
#include "engine/store/store.hpp"

namespace espalier::engine {
namespace {

std::int64_t microseconds_since_1970() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now()).time_since_epoch().count();
}

}  // namespace

transaction_status session::transaction() const noexcept {
  if (!transaction_) return transaction_status::none;
  return transaction_->has_failed ? transaction_status::failed : transaction_status::active;
}

std::uint64_t session::transaction_number() const noexcept { return transaction_ ? transactions_ : 0; }

std::int64_t session::now() const { return transaction_ ? transaction_->started : microseconds_since_1970(); }

void session::fail_transaction() noexcept {
  if (transaction_) transaction_->has_failed = true;
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
    try {
      for (const auto& files : transaction_->used) file_use_scope::add(files);
      if (transaction_->has_changes) write(nullptr, {}, index_files::current, out.timings);
    } catch (...) {
      roll_back();
      throw;
    }
    transaction_.reset();
  }
  if (statement.chain) begin(read_only);
  return out;
}

}  // namespace espalier::engine
