// memory_traffic.cpp - see memory_traffic.hpp.
#include "bench/index/memory_traffic.hpp"

#include <algorithm>

namespace espalier::bench {

std::optional<double> least_memory_traffic(operation op, const row& r, scalar_kind key_kind, scalar_kind value_kind,
                                           std::size_t leaf_bytes) {
  const double key = bytes_of(key_kind), value = bytes_of(value_kind);
  const double n = static_cast<double>(r.keys), q = static_cast<double>(r.queries);
  switch (op) {
    case operation::build:
      return 2 * n * (key + value);  // reads the pairs and writes the index
    case operation::visit:
      return n * (key + value);
    case operation::range:
    case operation::range_rows:
      return q * (2 * key + 8) + 2 * static_cast<double>(r.range_elements) * (key + value);
    case operation::find:
    case operation::find_sorted:
    case operation::find_after_insert:
    case operation::contains:
    case operation::lower_bound: {
      // One 32-byte sector of keys per query, and one of values for find; at most all lines.
      const bool values = op != operation::contains && op != operation::lower_bound && value > 0;
      const double answer = op == operation::lower_bound ? 8 : values ? value + 1 : 1;
      return q * (key + answer) + std::min(q * (values ? 64 : 32), static_cast<double>(leaf_bytes));
    }
    default:
      return {};
  }
}

}  // namespace espalier::bench
