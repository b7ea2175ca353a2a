// limits.hpp - limits on the size and depth of a statement. Recursive functions run on a stack that is large enough for
// these depths (deep_stack.hpp), and no planning step takes more than about a second within these limits.
#pragma once

#include <cstddef>
#include <string>

namespace espalier::engine::limits {

inline constexpr int nested_queries = 60;              ///< nested subqueries in the text
inline constexpr int nested_expressions = 400;         ///< nested operators and calls in the text
inline constexpr int set_operations = 5000;            ///< in one UNION chain
inline constexpr std::size_t joined_tables = 300;      ///< in one FROM
inline constexpr std::size_t select_columns = 10'000;  ///< in one SELECT or VALUES, * expanded
inline constexpr std::size_t keys = 1664;              ///< in ORDER BY and in GROUP BY, as in PostgreSQL
inline constexpr int queries_through_with = 500;  ///< depth of WITH queries and subqueries that reference each other
inline constexpr double expression_nodes = 1e5;   ///< where subexpressions are duplicated

}  // namespace espalier::engine::limits

namespace espalier::engine {

[[nodiscard]] inline std::string too_many_columns() {
  return "A query has at most " + std::to_string(limits::select_columns) + " columns; select fewer of them.";
}

}  // namespace espalier::engine
