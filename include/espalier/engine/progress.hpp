// progress.hpp - how long work tells that it goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace espalier::engine {

/// Called now and then from the thread that runs the statement: what is being done, and how much of it (total 0:
/// unknown). May throw to stop the statement, which then leaves everything as it was. Empty: nobody looks.
using progress = std::function<void(std::string_view what, std::uint64_t done, std::uint64_t total)>;

}  // namespace espalier::engine
