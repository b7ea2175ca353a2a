// window_definition.hpp - resolves the names of windows: OVER w, OVER (w ORDER BY ...), WINDOW w AS (...).
#pragma once

#include <cstddef>
#include <vector>

#include "engine/sql/ast.hpp"

namespace espalier::engine {

/// A window with the clauses of those that it extends. Pointers refer to the syntax tree.
struct resolved_window {
  std::vector<const ast::expression*> partition_by;
  std::vector<const ast::sort_key*> order_by;
  const ast::window* frame = nullptr;  ///< the definition whose frame clause applies
};

/// Resolves the window of a call. Throws if a name is unknown, or if a clause would replace one that is already there.
[[nodiscard]] resolved_window resolved_over(const ast::select& select, const ast::window& over);
/// Resolves select.windows[i], which may extend those written before it, and checks that its name is new.
[[nodiscard]] resolved_window resolved_definition(const ast::select& select, std::size_t i);

}  // namespace espalier::engine
