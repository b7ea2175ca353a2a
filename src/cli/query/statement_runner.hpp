// statement_runner.hpp - executes statements in order and writes their results to an output.
//
// Statements that change data share commits: their results are held back until they are durable, at most 100 ms or one
// statement long.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "cli/query/answer_output.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::cli {

class statement_runner {
 public:
  statement_runner(engine::database& db, answer_output& out)
      : db_(db), out_(out), warnings_printed_(db.warnings().size()) {}

  bool timing = false;  ///< print the time of each statement

  /// Throws the error of the first statement that fails; a `sql_error` then has its position in the whole script.
  void run(std::string_view script) { run(script, 0, script.size()); }
  /// Runs the statements of script[begin, end).
  void run(std::string_view script, std::size_t begin, std::size_t end);
  /// Returns the number of statements that `run` did not execute, because an earlier one failed.
  [[nodiscard]] std::size_t left() const noexcept { return left_; }

 private:
  void run_one(const engine::script_statement& statement, std::string_view script, std::size_t begin);
  /// Writes the statements of the group and shows their results.
  void write_and_show(engine::commit_group& together);
  /// Drops the results of statements that were undone, and shows the others once all of them are durable.
  void show_durable(const engine::commit_group& together);
  void show(const engine::query_result& result);

  engine::database& db_;
  answer_output& out_;
  std::vector<engine::query_result> held_;  ///< results of statements that may not be durable
  std::size_t left_ = 0;
  std::size_t warnings_printed_;
};

}  // namespace espalier::cli
