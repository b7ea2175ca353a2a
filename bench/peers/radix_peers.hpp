// radix_peers.hpp - the peers of the radix tree for finds and updates, in the same batches and with as many threads as
// the tree.
//
//   CPU  std-map, absl-btree, pointer-art   (string_maps.hpp)
//        grt-like             a radix tree packed into one buffer (grt_image.hpp)
//        fixed-table          our tree with the CuART paper's rule of which update wins (fixed_table.hpp)
//   GPU  grt-like             the same image, one thread per query
//        fixed-table          the same rule, in two kernels
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/data/radix_data.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/index/radix/radix_writes.hpp"
#include "bench/peers/string_maps.hpp"
#include "bench/peers/string_peer.hpp"
#include "espalier/device/device.hpp"

namespace espalier::bench {

/// How point queries are sent: from which memory, the batch size, and the number of concurrent batches.
struct point_asking {
  location place = location::device;
  std::uint64_t batch = 0;
  unsigned streams = 1;
};

class radix_peers {
 public:
  /// `maps` has been filled with those of maps_wanted().
  radix_peers(const options& what, const radix_data& data, const string_maps& maps, const device& dev)
      : what_(what), data_(data), maps_(maps), device_(dev) {}
  /// Returns the names of the maps that are compared with a tree of that many keys.
  [[nodiscard]] static std::vector<std::string> maps_wanted(const options& what, device_kind dev, std::uint64_t keys);

  /// `expected` are the correct results, checked before the timing.
  void add_points(operation op, const radix_questions& questions, const answers& expected, const point_asking& how,
                  row& r);
  /// `after` are the results of finding every key of the data afterwards.
  void add_update(const radix_batch& batch, const answers& after, location place, row& r);
  /// For operations that no peer supports.
  void add_none(row& r);

 private:
  /// Calls measure(name, peer) for each requested peer, and keeps its result, if any.
  template <class Measure>
  void for_each_peer(row& r, const Measure& measure);
  /// Filled at the first request.
  [[nodiscard]] string_peer& peer_of(const std::string& name);

  const options& what_;
  const radix_data& data_;
  const string_maps& maps_;
  device device_;
  std::map<std::string, std::unique_ptr<string_peer>> filled_;
};

}  // namespace espalier::bench
