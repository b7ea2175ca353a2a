// statement_runner.hpp - statements one after the other, their answers to an output.
#pragma once

#include <cstddef>
#include <string_view>

#include "cli/query/answer_output.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::cli {

class statement_runner {
 public:
  statement_runner(engine::database& db, answer_output& out)
      : db_(db), out_(out), warnings_printed_(db.warnings().size()) {}

  bool timing = false;  ///< say after each statement how long it took

  /// Throws what the first statement that fails throws; a `sql_error` then has its place in the whole script.
  void run(std::string_view script) { run(script, 0, script.size()); }
  /// The statements of script[begin, end).
  void run(std::string_view script, std::size_t begin, std::size_t end);
  /// Statements that `run` did not come to, because one before them failed.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }

 private:
  void run_one(const engine::script_statement& statement, std::string_view script, std::size_t begin);

  engine::database& db_;
  answer_output& out_;
  std::size_t left_ = 0;
  std::size_t warnings_printed_;
};

}  // namespace espalier::cli
