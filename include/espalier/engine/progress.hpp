// progress.hpp - progress reporting for long-running statements.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace espalier::engine {

/// Progress callback: the current phase, the completed and the total amount of work (0: unknown). Called from the
/// thread that executes the statement. It may throw to cancel the statement, which then has changed nothing. An empty
/// function reports nothing.
using progress = std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;

}  // namespace espalier::engine
