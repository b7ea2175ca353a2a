// duckdb_peer.hpp - DuckDB beside our engine: in a child process, as its Python package, on the same files and with as
// many threads. Times are taken inside the child (peer/duckdb_peer.py).
//
// A peer that is not there, or that fails, is no failure of ours: it says why, and the rest goes on without it.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/query/child_process.hpp"
#include "bench/query/scratch_folder.hpp"

namespace espalier::bench {

/// Of one statement, and the answer to the first that was asked.
struct peer_timing {
  double seconds = 0;
  std::shared_ptr<arrow::Table> answer;
};

class duckdb_peer {
 public:
  /// `python`: one that has duckdb and pyarrow; empty: that of a .venv above the program or the working folder, else
  /// python3.
  duckdb_peer(const std::string& python, const scratch_folder& folder, unsigned threads);

  [[nodiscard]] bool usable() const { return child_ != nullptr; }
  /// Its version, or why it is missing: a sentence.
  [[nodiscard]] std::string about() const;

  void run(const std::string& statement);
  /// Nothing if it is not usable (any more).
  [[nodiscard]] std::optional<peer_timing> ask(const std::vector<std::string>& statements, unsigned repeat);
  /// Seconds of one run of a statement that was asked before: for engines that take turns.
  [[nodiscard]] std::optional<double> again(const std::string& statement);

 private:
  void give_up(const std::string& why);

  const scratch_folder& folder_;
  std::unique_ptr<child_process> child_;
  std::string version_;
  std::string why_not_;
};

}  // namespace espalier::bench
