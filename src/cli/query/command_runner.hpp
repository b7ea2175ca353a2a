// command_runner.hpp - executes backslash commands, in the shell and in scripts.
#pragma once

#include <string>

#include "cli/query/answer_output.hpp"
#include "cli/query/shell_command.hpp"
#include "cli/query/statement_runner.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::cli {

class command_runner {
 public:
  command_runner(engine::database& db, answer_output& out, statement_runner& statements)
      : db_(db), out_(out), statements_(statements) {}

  /// Throws `error` for an unknown command or too many arguments.
  void run(const shell_command& asked);
  [[nodiscard]] bool ended() const noexcept { return ended_; }  ///< \q was run

 private:
  void describe(const std::string& word);
  void set_timing(const std::string& word);
  void set_format(const std::string& name);

  engine::database& db_;
  answer_output& out_;
  statement_runner& statements_;
  bool ended_ = false;
};

}  // namespace espalier::cli
