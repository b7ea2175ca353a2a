// hybrid_measurement.hpp - measures hybrid trees of every requested layout and bucket size on one data set, one device
// and one number of host threads, operation by operation.
//
// Queries are measured as in static_measurement.hpp: once with the results checked, then timed. Queries that are
// executed in buckets are measured in every requested way and, in the same run, by the host alone. An update leaves the
// same tree however often it is repeated, so it is measured like a query; before an insert or erase the tree is
// rebuilt, outside the timed part. After the first run of a write every key is looked up.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/data/blink_data.hpp"
#include "bench/harness/host_memory.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/index/hybrid/hybrid_under_test.hpp"
#include "bench/peers/blink_peers.hpp"

namespace espalier::bench {

/// The way in which a query is executed: one point of the axes of a tree and operation.
struct hybrid_way {
  hybrid_placement placement = hybrid_placement::host_alone;
  unsigned queue_depth = 2;
  balancing balance = balancing::tuned;
  [[nodiscard]] bool alone() const { return placement == hybrid_placement::host_alone; }
};
/// Returns the number of rows of one operation and number of queries.
[[nodiscard]] std::size_t hybrid_rows(operation op, const options& what);

class hybrid_measurement {
 public:
  /// `threads` is the number of host threads, 0 for all cores.
  hybrid_measurement(const options& what, const blink_data& data, const device& dev, unsigned threads);

  /// Returns one row per layout, page configuration, bucket size, request order and way of querying or writing, as far
  /// as they apply to the operation.
  [[nodiscard]] std::vector<row> measure(operation op, std::uint64_t queries);

 private:
  /// The queries of an operation that reads, and the expected results.
  struct question {
    operation op;
    std::optional<request_order> requests;
    query_set points;
    range_set ranges;
    answers expected;
    std::vector<std::string> notes;
    [[nodiscard]] query_view view() const {
      return takes_ranges(op) ? query_view{nullptr, &ranges} : query_view{&points, nullptr};
    }
    [[nodiscard]] const column& keys() const { return takes_ranges(op) ? ranges.lo : points.keys; }
  };
  struct cost {
    double seconds = 0;
    std::optional<double> tlb_misses;  ///< per query
  };
  struct tree_shape {
    hybrid_layout layout = hybrid_layout::implicit;
    std::uint64_t bucket = 0;
    page_configuration pages = page_configuration::huge;
    friend bool operator==(const tree_shape&, const tree_shape&) = default;
  };

  [[nodiscard]] const data_spec& spec() const { return data_.tree.spec; }
  [[nodiscard]] row empty_row(operation op, const tree_shape& shape) const;
  [[nodiscard]] std::vector<tree_shape> shapes(operation op) const;
  void finish_row(std::uint64_t work, row& r) const;
  void note_sent(row& r) const;
  void load(const tree_shape& shape);
  /// Builds the tree unless it exists.
  void need_tree(const tree_shape& shape);
  void require_valid(operation op, std::uint64_t size) const;

  [[nodiscard]] std::vector<row> measure_build();
  [[nodiscard]] std::vector<row> measure_questions(operation op, std::uint64_t queries);
  [[nodiscard]] std::vector<row> measure_writes(operation op, std::uint64_t queries);

  [[nodiscard]] question make_question(operation op, std::uint64_t queries,
                                       std::optional<request_order> requests) const;
  [[nodiscard]] bool is_pinned() const {
    return device_.kind() == device_kind::cuda && what_.hybrid.memory == host_memory_kind::pinned;
  }
  [[nodiscard]] std::uint64_t most_elements(operation op) const;
  /// Copies a column to the memory of a caller.
  [[nodiscard]] host_memory copy_of(const column& c) const;
  /// Returns the seconds of one call, after one whose results were correct.
  [[nodiscard]] cost time_question(const question& q, const hybrid_query_options& how) const;
  /// `alone` is the time of the host alone, in seconds.
  [[nodiscard]] row measure_way(const question& q, const tree_shape& shape, const hybrid_way& way, const cost& alone);

  [[nodiscard]] row measure_write(operation op, const blink_script& script, const tree_shape& shape, update_mode way);
  [[nodiscard]] double write_once(operation op, const blink_script& script, update_mode way);
  void require_contents(operation op, const blink_script& script) const;

  const options& what_;
  const blink_data& data_;
  device device_;
  device host_;
  hybrid_under_test tree_;
  std::optional<tree_shape> built_;  ///< nothing if there is no tree, or it was written to
  blink_peers peers_;
};

}  // namespace espalier::bench
