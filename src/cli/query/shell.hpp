// shell.hpp - the interactive mode of `espalier sql`.
#pragma once

#include "cli/query/answer_output.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::cli {

/// Reads statements until \q or the end of the input. Errors are printed, and the shell continues.
void run_shell(engine::database& db, answer_output& out);

}  // namespace espalier::cli
