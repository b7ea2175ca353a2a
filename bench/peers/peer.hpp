// peer.hpp - what the index is measured against, in the same run, on the same data, for the same answers.
//
//   CPU  lower-bound   std::lower_bound over the sorted keys, values in a second array; ranges are scanned
//        std-map       std::multimap, filled in the order of the data; ranges are walked
//        absl-btree    absl::btree_multimap, likewise
//        vector-scan   no index at all: every range query reads all pairs
//        tbb-sort      build: sorting an array of the same pairs
//        reduce        visit: adding up an array of the same pairs; also beside the B-link tree
//        pointer-art, grt-like, fixed-table   of strings only: radix_peers.hpp
//   GPU  thrust-lower-bound   the vectorised thrust::lower_bound over the sorted keys, then a gather of values
//        cub-sort             build: cub::DeviceRadixSort::SortPairs
//        reduce               visit: cub::DeviceReduce over an array of the same pairs; also beside the B-link tree
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
  /// Builds what queries need; not timed. Called once, before the first query.
  virtual void prepare() {}
  /// Answers the request. For `range` the offsets are given in out[0]; for `build` the request holds the unsorted
  /// keys in `keys` and their values in `hi`; for `visit` out[0] is host memory.
  virtual void run(operation op, const request& what) = 0;
  /// How many of the queries to answer: peers without aggregates walk their ranges, so that a few tell the rate.
  [[nodiscard]] virtual std::size_t sample(operation op, std::size_t queries, double mean_length) const = 0;
};

/// Seconds in which a peer visits all elements, prepared and checked (visit_timing.hpp).
[[nodiscard]] double seconds_of_visit(peer& by, std::string_view name, std::uint64_t right, unsigned repeat,
                                      const stream& order);
/// A map is filled and walked by one thread, whatever the index uses: the ratio must not hide that. Else empty.
[[nodiscard]] std::string note_of_one_thread(operation op, std::string_view name, unsigned threads);

struct peer_entry {
  std::string_view name;
  device_kind dev;
  /// Larger indexes are left out unless forced, for time or memory.
  std::uint64_t most_keys;
  std::array<bool, index_names.size()> indexes;  ///< that it is compared with: static, blink, radix, hybrid
};
[[nodiscard]] const std::vector<peer_entry>& known_peers();
/// Null if it does not stand beside this index on such a device.
[[nodiscard]] const peer_entry* known_peer(std::string_view name, index_kind index, device_kind dev);

/// Whether a peer stands beside an index other than the static one, and what is to be said if not.
struct peer_choice {
  bool measured = true;
  std::string note;
};
[[nodiscard]] peer_choice choose_peer(const options& what, std::string_view name, index_kind index, device_kind dev,
                                      std::uint64_t keys);

/// Null if these types are not compiled in.
[[nodiscard]] std::unique_ptr<peer> make_cpu_peer(std::string_view name, const workload& data, unsigned threads);
[[nodiscard]] std::unique_ptr<peer> make_gpu_peer(std::string_view name, const workload& data, const device& dev);

}  // namespace espalier::bench
