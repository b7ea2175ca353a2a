// blink_peers.hpp - std::map and absl::btree_map with the work of the B-link tree, and an array for visits. They are
// checked in the same way and timed once for all kinds of tree that were measured on the same data.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/data/blink_data.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/index/blink/blink_script.hpp"
#include "bench/peers/ordered_map.hpp"

namespace espalier::bench {

class blink_peers {
 public:
  blink_peers(const options& what, const blink_data& data, device dev)
      : what_(what), data_(data), device_(std::move(dev)) {}

  /// Each function adds one result per peer to every row.
  void add_build(std::vector<row>& rows) const;
  void add_questions(operation op, const workload& elements, const query_view& queries, const answers& expected,
                     std::vector<row>& rows) const;
  void add_visit(std::vector<row>& rows) const;
  void add_script(operation op, const blink_script& script, std::vector<row>& rows) const;

 private:
  /// The seconds of one run, and its amount of work.
  struct timing {
    double seconds = 0;
    std::uint64_t work = 0;
  };
  using measure = std::function<timing(ordered_map&, const std::string& name)>;

  void add_each(operation op, std::uint64_t work, bool one_thread, std::vector<row>& rows, const measure& f) const;
  [[nodiscard]] bool applies(operation op, const std::string& name, std::vector<row>& rows) const;
  [[nodiscard]] double run_script(operation op, const blink_script& script, ordered_map& map,
                                  const std::string& name) const;

  const options& what_;
  const blink_data& data_;
  device device_;
};

}  // namespace espalier::bench
