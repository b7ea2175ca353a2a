// radix_peers.hpp - what stands beside the radix tree, for finds and updates, in the same batches and in as many
// threads as the tree has.
//
//   CPU  std-map, absl-btree  maps from std::string, asked by views so that no question costs a string
//        pointer-art          an adaptive radix tree of nodes and pointers (pointer_art.hpp)
//        grt-like             a radix tree packed into one buffer (grt_image.hpp)
//        fixed-table          our tree with the CuART paper's rule of which update wins (fixed_table.hpp)
//   GPU  grt-like             the same image, a thread per query
//        fixed-table          likewise
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bench/options.hpp"
#include "bench/radix_data.hpp"
#include "bench/radix_writes.hpp"
#include "bench/row.hpp"
#include "bench/string_peer.hpp"
#include "espalier/device/device.hpp"

namespace espalier::bench {

/// How points are asked: from where, how many at once, and how many such batches in flight.
struct point_asking {
  location place = location::device;
  std::uint64_t batch = 0;
  unsigned streams = 1;
};

class radix_peers {
 public:
  radix_peers(const options& what, const radix_data& data, const device& where)
      : what_(what), data_(data), where_(where) {}

  /// `expected`: the right answers, checked before the timing.
  void add_points(operation op, const radix_questions& questions, const answers& expected, const point_asking& how,
                  row& r);
  void add_update(const radix_batch& batch, location place, row& r);
  /// For operations that no peer does.
  void add_none(row& r);

 private:
  /// Calls measure(name, peer) for each that is wanted, and keeps what it returns, if anything.
  template <class Measure>
  void for_each_peer(row& r, const Measure& measure);
  /// Filled when first asked for.
  [[nodiscard]] string_peer& peer_of(const std::string& name);

  const options& what_;
  const radix_data& data_;
  device where_;
  std::map<std::string, std::unique_ptr<string_peer>> filled_;
};

}  // namespace espalier::bench
