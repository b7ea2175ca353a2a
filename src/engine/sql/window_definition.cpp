#include "engine/sql/window_definition.hpp"

#include <fmt/format.h>

#include "engine/error.hpp"

namespace espalier::engine {
namespace {

// Returns the place of the name among the first `count` definitions.
std::size_t place_of(const ast::select& select, const std::string& name, std::size_t count, int position) {
  for (std::size_t i = 0; i < count; ++i) {
    if (select.windows[i].name == name) return i;
  }
  throw_sql_error(
      codes::undefined_object, position,
      fmt::format("There is no window '{}' here; define it before its use: WINDOW {} AS (...).", name, name));
}

// Resolves a definition that may extend one of the first `count` of WINDOW.
resolved_window extended(const ast::select& select, const ast::window& window, std::size_t count) {
  resolved_window out;
  if (!window.base.empty()) {
    const auto place = place_of(select, window.base, count, window.position);
    out = extended(select, select.windows[place], place);
    const auto refuse = [&](const char* what) {
      throw_sql_error(codes::windowing_error, window.position, fmt::format(fmt::runtime(what), window.base));
    };
    if (!window.partition_by.empty()) refuse("PARTITION BY cannot be added to the window '{}'; write a new window.");
    if (!window.order_by.empty() && !out.order_by.empty()) {
      refuse("The window '{}' has an ORDER BY already; write a new window.");
    }
    if (out.frame->has_frame) {
      refuse("The window '{0}' has a frame and cannot be extended; write OVER {0} without parentheses.");
    }
  }
  for (const auto& e : window.partition_by) out.partition_by.push_back(e.get());
  for (const auto& key : window.order_by) out.order_by.push_back(&key);
  out.frame = &window;
  return out;
}

}  // namespace

resolved_window resolved_over(const ast::select& select, const ast::window& over) {
  if (over.name.empty()) return extended(select, over, select.windows.size());
  return resolved_definition(select, place_of(select, over.name, select.windows.size(), over.position));
}

resolved_window resolved_definition(const ast::select& select, std::size_t i) {
  const auto& window = select.windows[i];
  for (std::size_t k = 0; k < i; ++k) {
    if (select.windows[k].name != window.name) continue;
    throw_sql_error(codes::windowing_error, window.position,
                    fmt::format("The window '{}' is defined twice.", window.name));
  }
  return extended(select, window, i);
}

}  // namespace espalier::engine
