// peer.hpp - the peers of an index, which are measured in the same run, on the same data, for the same results.
//
//   CPU  lower-bound   std::lower_bound over the sorted keys, values in a second array; ranges are scanned
//        std-map       std::multimap, filled in the order of the data; ranges are traversed
//        absl-btree    absl::btree_multimap, in the same way
//        vector-scan   no index: every range query reads all pairs
//        tbb-sort      build: sorts an array of the same pairs
//        reduce        visit: sums an array of the same pairs; also a peer of the B-link tree
//        pointer-art, grt-like, fixed-table   for strings only: radix_peers.hpp
//   GPU  thrust-lower-bound   the vectorised thrust::lower_bound over the sorted keys, then a gather of values
//        cub-sort             build: cub::DeviceRadixSort::SortPairs
//        reduce               visit: cub::DeviceReduce over an array of the same pairs; also a peer of the B-link tree
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/data/workload.hpp"
#include "bench/harness/cli_names.hpp"
#include "bench/index/request.hpp"

namespace espalier::bench {

struct options;

class peer {
 public:
  virtual ~peer() = default;
  [[nodiscard]] virtual bool answers(operation op) const = 0;
  /// Builds what queries need, untimed. Called once, before the first query.
  virtual void prepare() {}
  /// Executes the request. For `range` the offsets are given in out[0]; for `build` the request has the unsorted keys
  /// in `keys` and their values in `hi`; for `visit` out[0] is host memory.
  virtual void run(operation op, const request& what) = 0;
  /// Returns how many of the queries to execute: peers without aggregates traverse their ranges, so a few determine the
  /// rate.
  [[nodiscard]] virtual std::size_t sample(operation op, std::size_t queries, double mean_length) const = 0;
};

/// Returns the seconds in which a peer visits all elements, after preparation and a check (visit_timing.hpp).
[[nodiscard]] double seconds_of_visit(peer& by, std::string_view name, std::uint64_t right, unsigned repeat,
                                      const stream& order);
/// Returns a note that a map is filled and traversed by one thread, however many the index uses, or an empty string.
[[nodiscard]] std::string note_of_one_thread(operation op, std::string_view name, unsigned threads);

struct peer_entry {
  std::string_view name;
  device_kind dev;
  /// Larger indexes are omitted unless forced, for time or memory.
  std::uint64_t most_keys;
  std::array<bool, index_names.size()> indexes;  ///< the indexes it is compared with: static, blink, radix, hybrid
};
[[nodiscard]] const std::vector<peer_entry>& known_peers();
/// Returns null if it is not a peer of this index on such a device.
[[nodiscard]] const peer_entry* known_peer(std::string_view name, index_kind index, device_kind dev);

/// Whether a peer applies to an index other than the static one, and the note if it does not.
struct peer_choice {
  bool measured = true;
  std::string note;
};
[[nodiscard]] peer_choice choose_peer(const options& what, std::string_view name, index_kind index, device_kind dev,
                                      std::uint64_t keys);

/// Returns null if these types are not compiled in.
[[nodiscard]] std::unique_ptr<peer> make_cpu_peer(std::string_view name, const workload& data, unsigned threads);
[[nodiscard]] std::unique_ptr<peer> make_gpu_peer(std::string_view name, const workload& data, const device& dev);

}  // namespace espalier::bench
