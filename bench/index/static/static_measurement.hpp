// static_measurement.hpp - measures one index on one device, operation by operation.
//
// For each row, the output is poisoned, the operation runs once (the warm-up) and its results are compared with the
// reference; then it is timed; then each peer is created, warmed up, compared with the index, timed and freed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "bench/data/answers.hpp"
#include "bench/data/workload.hpp"
#include "bench/harness/device_array.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/index/static/system_under_test.hpp"
#include "bench/peers/peer.hpp"

namespace espalier::bench {

class static_measurement {
 public:
  static_measurement(const options& what, const workload& data, device dev, double copy_bandwidth);

  /// Seconds are 0, with a note, if the operation is not compiled for this device and these types.
  [[nodiscard]] row measure(operation op, std::uint64_t queries);

 private:
  struct inputs {
    query_set points;
    range_set ranges;
    device_column keys, hi;
    [[nodiscard]] query_view view(operation op) const {
      if (takes_no_queries(op)) return {};
      return takes_ranges(op) ? query_view{nullptr, &ranges} : query_view{&points, nullptr};
    }
  };

  struct prepared_peer {
    std::unique_ptr<peer> it;
    bool prepared = false;
  };

  [[nodiscard]] row empty_row(operation op) const;
  [[nodiscard]] inputs make_inputs(operation op, std::uint64_t queries, row& r) const;
  [[nodiscard]] aggregates kept_for(operation op) const;
  [[nodiscard]] query_options query_options_for(operation op) const;
  [[nodiscard]] bool is_gpu() const { return device_.kind() == device_kind::cuda; }
  void need_tree(operation op);
  void finish_row(operation op, row& r) const;

  void measure_build(row& r);
  void measure_visit(row& r);
  void measure_queries(operation op, row& r, const inputs& in);

  void add_peers(operation op, row& r, const inputs& in, const answers& ours);
  void add_visitor(row& r, const std::string& name, peer& p) const;
  void add_peer(operation op, row& r, const inputs& in, const answers& ours, const std::string& name, peer& p) const;
  [[nodiscard]] prepared_peer* peer_named(const std::string& name, row& r);

  const options& what_;
  const workload& data_;
  device device_;
  double copy_bandwidth_;
  device_column keys_, values_;  ///< unsorted pairs
  std::unique_ptr<system_under_test> tree_;
  std::optional<aggregates> built_with_;
  std::map<std::string, prepared_peer> peers_;
};

}  // namespace espalier::bench
