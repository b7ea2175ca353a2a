// blink_measurement.hpp - measures B-link trees of every requested shape on one data set and one device, operation by
// operation.
//
// Queries are measured as in static_measurement.hpp: once with the results checked, then timed. For an operation that
// writes, the tree is rebuilt before each run, outside the timed part. Each run is checked afterwards: its results, and
// the content of the tree by looking up every key. Shapes share the batch, and the peers, which do not depend on them,
// run once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/data/blink_data.hpp"
#include "bench/harness/device_array.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/index/blink/blink_script.hpp"
#include "bench/index/blink/blink_under_test.hpp"
#include "bench/peers/blink_peers.hpp"

namespace espalier::bench {

class blink_measurement {
 public:
  blink_measurement(const options& what, const blink_data& data, device dev, double copy_bandwidth);

  /// Returns one row per shape and, if the operation writes, per path.
  [[nodiscard]] std::vector<row> measure(operation op, std::uint64_t queries);

 private:
  /// The queries of an operation that reads, and the expected results.
  struct question {
    const workload* elements = nullptr;
    query_set points;
    range_set ranges;
    device_column keys, hi;
    answers expected;
    std::vector<std::string> notes;
    [[nodiscard]] query_view view(operation op) const {
      return takes_ranges(op) ? query_view{nullptr, &ranges} : query_view{&points, nullptr};
    }
  };

  [[nodiscard]] bool is_gpu() const { return device_.kind() == device_kind::cuda; }
  [[nodiscard]] const data_spec& spec() const { return data_.tree.spec; }
  [[nodiscard]] row empty_row(operation op, const blink_under_test& tree) const;
  [[nodiscard]] blink_under_test make_tree(const blink_shape& shape) const;
  void load(blink_under_test& tree) const;
  void finish_row(operation op, std::uint64_t work, const blink_stats& tree, row& r) const;

  [[nodiscard]] std::vector<row> measure_build() const;
  [[nodiscard]] std::vector<row> measure_snapshot() const;
  [[nodiscard]] std::vector<row> measure_visit() const;
  [[nodiscard]] std::vector<row> measure_questions(operation op, std::uint64_t queries);
  [[nodiscard]] std::vector<row> measure_writes(operation op, std::uint64_t size) const;

  [[nodiscard]] question make_question(operation op, std::uint64_t queries, std::uint64_t inserted);
  void make_ranges_for(operation op, std::uint64_t queries, question& q) const;
  void time_question(operation op, const question& q, const blink_under_test& tree, row& r) const;
  void time_range(const question& q, const blink_under_test& tree, const request& ask, row& r) const;
  void time_rows(const question& q, const blink_under_test& tree, request ask, row& r) const;

  [[nodiscard]] std::uint64_t fitting_size(operation op, std::uint64_t size, std::vector<std::string>& notes) const;
  [[nodiscard]] double run_once(operation op, const blink_script& script, const std::vector<device_step>& steps,
                                const device_step& contents, const write_options& options,
                                blink_under_test& tree) const;

  const options& what_;
  const blink_data& data_;
  device device_;
  double copy_bandwidth_;
  blink_peers peers_;
  device_column keys_, values_;
  std::optional<workload> grown_;  ///< the tree's elements and the fresh ones that were inserted last
};

}  // namespace espalier::bench
