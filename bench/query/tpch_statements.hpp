// tpch_statements.hpp - the 22 statements of TPC-H with the parameters of the specification's validation runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::bench {

struct tpch_statement {
  std::string name;  ///< "Q1" to "Q22"
  std::string text;  ///< in PostgreSQL's dialect, which DuckDB reads, too
};

/// The fraction in Q11 decreases with the size of the tables; the view of Q15 is a WITH query.
[[nodiscard]] std::vector<tpch_statement> tpch_statements(std::uint64_t lineitem_rows);

}  // namespace espalier::bench
