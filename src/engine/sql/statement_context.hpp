// statement_context.hpp - what a statement is bound for, beyond the tables.
#pragma once

#include <cstdint>

namespace espalier::engine {

struct statement_context {
  std::int64_t now = 0;  ///< value of now() in microseconds since 1970, UTC, the same for the whole statement
  bool allow_file_access = true;
};

}  // namespace espalier::engine
