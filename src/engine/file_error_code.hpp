// file_error_code.hpp - the SQLSTATE of a failed file operation, by its errno.
#pragma once

#include <cerrno>

#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {

[[nodiscard]] inline error_code file_error_code(int reason) {
  if (reason == ENOSPC || reason == EDQUOT) return codes::disk_full;
  return reason == ENOENT ? codes::undefined_file : codes::io_error;
}

}  // namespace espalier::engine
