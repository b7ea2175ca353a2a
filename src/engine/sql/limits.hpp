// limits.hpp - how large and how deep a statement may be. Trees are followed by recursion on a stack that holds these
// depths (deep_stack.hpp), and no step of planning takes more than about a second for what they allow.
#pragma once

#include <cstddef>
#include <string>

namespace espalier::engine::limits {

inline constexpr int nested_queries = 60;              ///< subqueries inside each other, as written
inline constexpr int nested_expressions = 400;         ///< operators and calls inside each other, as written
inline constexpr int set_operations = 5000;            ///< of one UNION chain
inline constexpr std::size_t joined_tables = 300;      ///< of one FROM
inline constexpr std::size_t select_columns = 10'000;  ///< of one SELECT or VALUES, * included
inline constexpr std::size_t keys = 1664;              ///< of ORDER BY and of GROUP BY, as in PostgreSQL
inline constexpr int queries_through_with = 500;       ///< WITH queries that name each other, and subqueries, in a row
inline constexpr double expression_nodes = 1e5;        ///< where parts of an expression are evaluated several times

}  // namespace espalier::engine::limits

namespace espalier::engine {

[[nodiscard]] inline std::string too_many_columns() {
  return "A query has at most " + std::to_string(limits::select_columns) + " columns; select fewer of them.";
}

}  // namespace espalier::engine
