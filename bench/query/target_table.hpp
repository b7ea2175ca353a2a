// target_table.hpp - the engine's targets and measured values, one line per target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/row.hpp"

namespace espalier::bench {

class target_table {
 public:
  /// Adds the seconds of our engine and of the peer, if there is one; `asked` is the required speedup, 0 if there is no
  /// requirement.
  void add(const std::string& what, double ours, std::optional<double> theirs, double asked);
  /// Adds a rate per second without a peer; `asked` is a rate, too. For tables that have only these.
  void add_rate(const std::string& what, double ours, const std::string& unit, double asked);

  /// Returns Markdown; tables of rates have no peer.
  [[nodiscard]] std::string text(const std::string& peer) const;

 private:
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace espalier::bench
