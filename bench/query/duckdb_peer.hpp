// duckdb_peer.hpp - DuckDB as a peer of our engine: in a child process, as its Python package, on the same files and
// with as many threads. Times are taken inside the child (peer/duckdb_peer.py).
//
// A peer that is missing or fails is not an error of the benchmark: it reports the reason, and the rest continues
// without it.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/query/child_process.hpp"
#include "bench/query/scratch_folder.hpp"

namespace espalier::bench {

/// The time of one statement, and the result of the first one.
struct peer_timing {
  double seconds = 0;
  std::shared_ptr<arrow::Table> answer;
};

class duckdb_peer {
 public:
  /// `python` is an interpreter with duckdb and pyarrow. If empty, that of a .venv above the program or the working
  /// folder is used, otherwise python3.
  duckdb_peer(const std::string& python, const scratch_folder& folder, unsigned threads);

  [[nodiscard]] bool usable() const { return child_ != nullptr; }
  /// Returns its version, or the reason why it is missing, as a sentence.
  [[nodiscard]] std::string about() const;

  void run(const std::string& statement);
  /// Returns nothing if it is not usable (any more).
  [[nodiscard]] std::optional<peer_timing> ask(const std::vector<std::string>& statements, unsigned repeat);
  /// Returns the seconds of one run of a statement that was run before, for engines that alternate.
  [[nodiscard]] std::optional<double> again(const std::string& statement);

 private:
  void give_up(const std::string& why);

  const scratch_folder& folder_;
  std::unique_ptr<child_process> child_;
  std::string version_;
  std::string why_not_;
};

}  // namespace espalier::bench
