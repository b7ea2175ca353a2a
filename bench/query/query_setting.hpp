// query_setting.hpp - state that the parts of the query engine's suite share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/row.hpp"
#include "bench/harness/suite.hpp"
#include "bench/query/duckdb_peer.hpp"
#include "bench/query/scratch_folder.hpp"

namespace espalier::bench {

struct query_setting {
  explicit query_setting(const suite_options& asked)
      : what(asked),
        devices(suite_devices(asked.base)),
        threads(device::cpu(static_cast<unsigned>(asked.base.threads.front())).threads()),
        duckdb(asked.duckdb_python, folder, threads) {}

  /// Returns 2^exponent, or the largest size that is allowed.
  [[nodiscard]] std::uint64_t rows(unsigned exponent) const {
    return std::min(std::uint64_t{1} << exponent, what.most_keys);
  }
  /// Returns a result row: one statement of one engine.
  [[nodiscard]] row result(device_choice where, const std::string& op, std::uint64_t keys, double seconds) const {
    row r;
    r.device = where == device_choice::gpu ? "gpu" : "cpu";
    r.threads = where == device_choice::gpu ? 0 : threads;
    r.op = op;
    r.keys = keys;
    r.queries = 1;
    r.location = "host";
    r.seconds = seconds;
    r.rate = seconds > 0 ? 1 / seconds : 0;
    return r;
  }

  const suite_options& what;
  std::vector<device_choice> devices;
  unsigned threads;
  scratch_folder folder;
  duckdb_peer duckdb;
};

/// For parts whose targets are for a GPU.
[[nodiscard]] inline std::string about_devices(const query_setting& setting) {
  return setting.devices.back() == device_choice::gpu
             ? "The target is the GPU's; the CPU stands beside it."
             : "The target is a GPU's, and none was measured: this is the CPU.";
}

/// Adds the peer's columns to a row.
inline void add_peer(row& r, const std::string& name, double seconds) {
  r.peers.push_back({name, seconds, r.queries, r.seconds > 0 ? seconds / r.seconds : 0});
}

}  // namespace espalier::bench
