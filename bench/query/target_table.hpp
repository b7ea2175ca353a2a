// target_table.hpp - what the engine has to reach, beside what it reaches: one line a target.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/row.hpp"

namespace espalier::bench {

class target_table {
 public:
  /// Seconds of ours and of the peer, if it was there; `asked`: how many times as fast ours has to be, 0 if nobody
  /// asked.
  void add(const std::string& what, double ours, std::optional<double> theirs, double asked);
  /// Per second; nobody stands beside it, and `asked` is a rate, too. For tables that have only these.
  void add_rate(const std::string& what, double ours, const std::string& unit, double asked);

  /// In Markdown; no peer in tables of rates.
  [[nodiscard]] std::string text(const std::string& peer) const;

 private:
  std::vector<std::vector<std::string>> lines_;
};

}  // namespace espalier::bench
