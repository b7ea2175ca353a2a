// shell.hpp - `espalier sql` with a person at the other end.
#pragma once

#include "cli/query/answer_output.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::cli {

/// Reads statements until \q or the end of the input. Errors are shown, and the shell goes on.
void run_shell(engine::database& db, answer_output& out);

}  // namespace espalier::cli
