// options.hpp - options of the hybrid tree and the statistics that it reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "espalier/index/options.hpp"

namespace espalier {

/// Layout of the tree in host memory.
enum class hybrid_layout : std::uint8_t {
  /// Arrays addressed by number, without pointers: a static tree. Fastest to search. Host memory: 1.23 times that of
  /// keys and values of 8 bytes, 1.04 times without aggregates (`keep`). A write builds a new tree while the old one
  /// exists, and needs a copy of all pairs meanwhile.
  implicit,
  /// Nodes with links: a B-link tree with an express lane. Supports batches of writes. Host memory: twice that of keys
  /// and values of 8 bytes, 1.5 times with full leaves (`fill`), plus space for leaves that a synchronised write might
  /// make.
  regular,
};

/// Which processor searches which levels. The leaves are in host memory in any case.
enum class hybrid_placement : std::uint8_t {
  automatic,     ///< chosen by measurement
  host_alone,    ///< the CPU searches all levels
  shared,        ///< the device searches the inner levels, the CPU the leaves
  device_alone,  ///< the device searches all levels and reads leaves in host memory (implicit layout)
  both,          ///< some buckets `shared`, others `device_alone`, by the load of each
};

/// How a write to the regular layout updates the inner levels (the two methods of the HB+-tree paper). The implicit
/// layout is rebuilt.
enum class update_mode : std::uint8_t {
  automatic,     ///< by the estimated cost of both for the batch
  asynchronous,  ///< all threads sort and merge the batch; then changed inner levels are sent as a whole
  synchronised,  ///< key by key; inner levels stay while all leaves are reached in few extra steps, then the
                 ///< differences are sent
};

/// Pages of the two segments in host memory (the three configurations of the HB+-tree paper), as far as the system
/// provides them. Blocks below 2 MiB always come from the heap.
enum class page_configuration : std::uint8_t {
  huge,        ///< huge pages for leaves and inner levels
  huge_inner,  ///< huge pages for inner levels, small ones for leaves
  small,       ///< small pages for both
};

/// How keys are copied from the caller's memory to the device, and results back.
enum class host_copies : std::uint8_t {
  automatic,  ///< directly if that memory is pinned (device::host_pool()), which saves the CPU two copies
  staged,     ///< through pinned memory of the tree
};

/// How the inner levels of a bucket are divided: the CPU searches `levels` of them for the first `share` of the
/// queries, and one more for the others. There are two: the table, and the headers of groups.
struct load_balance {
  unsigned levels = 0;
  double share = 1;
  friend bool operator==(const load_balance&, const load_balance&) = default;
};

struct hybrid_options {
  hybrid_layout layout = hybrid_layout::implicit;
  double fill = 0.75;            ///< fill of the leaves of the regular layout, 0.25 to 1
  std::size_t bucket = 1 << 21;  ///< maximum number of queries per bucket
  /// Maximum number of queries that a device sorts by leaf before it reads leaves in host memory; less if memory is
  /// limited, and never less than a bucket. With more queries the leaves read are closer together, and more queries
  /// share a leaf.
  std::size_t window = 1 << 26;
  /// Aggregates that the implicit layout keeps so that sum, min and max of a range cost the same whatever its length;
  /// the regular layout reads all leaves of a range.
  aggregates keep = aggregates::all;
  /// Bytes that the tree may use of the device's memory. The CPU searches what does not fit.
  std::size_t gpu_memory = std::numeric_limits<std::size_t>::max();
  /// Part of these bytes for copies of frequently read leaves, or of all leaves if they fit; less if memory is limited.
  /// The default is a quarter of the free memory of a GPU, and 0 if the device is a CPU.
  std::optional<std::size_t> leaf_cache = {};
  unsigned threads = 0;  ///< threads of the host; 0 means all cores
  page_configuration pages = page_configuration::huge;
};

struct hybrid_query_options {
  hybrid_placement placement = hybrid_placement::automatic;
  /// Number of buckets at the device in addition to the one that the host finishes: 0 processes one bucket after the
  /// other; with 1 the device starts the next bucket when the result of this one has been downloaded; with 2 it always
  /// has another bucket waiting. `error` is thrown for more.
  unsigned queue_depth = 2;
  std::optional<load_balance> balance = {};  ///< if absent, as tuned and adapted to the load
  host_copies copies = host_copies::automatic;
};

/// What the last write, or the build, did.
struct hybrid_update {
  update_mode way = update_mode::automatic;  ///< automatic if there was no write, or if everything was rebuilt
  std::size_t sent = 0;                      ///< bytes of inner levels sent to the device
  double send_seconds = 0;                   ///< duration, including the search for differences
  std::string reason;                        ///< why, in one sentence
};

/// Pages of the host memory, as currently counted by the system.
struct hybrid_pages {
  page_configuration asked = page_configuration::huge;
  std::size_t inner_bytes = 0;       ///< all but the leaves
  std::size_t huge_inner_bytes = 0;  ///< part of these on huge pages
  std::size_t leaf_bytes = 0;
  std::size_t huge_leaf_bytes = 0;
  std::string reason;  ///< if the system provides none of the requested pages: the reason, in one sentence
};

struct hybrid_stats {
  std::size_t size = 0;                                       ///< elements
  std::size_t host_bytes = 0;                                 ///< leaves, including reserved ones, and inner levels
  std::size_t inner_bytes = 0;                                ///< inner levels
  std::size_t device_bytes = 0;                               ///< its inner levels, buckets, and copies of leaves
  bool reads_leaves = false;                                  ///< the device has been asked to read leaves, and can
  std::size_t leaf_cache_bytes = 0;                           ///< part of these for copies of leaves
  hybrid_placement placement = hybrid_placement::host_alone;  ///< placement of large batches of finds
  /// Placement of the last batch of finds or rows; automatic if there was none.
  hybrid_placement last = hybrid_placement::automatic;
  load_balance balance;
  std::string reason;  ///< why, in one sentence
  hybrid_update update;
  hybrid_pages pages;
};

[[nodiscard]] std::string to_string(hybrid_layout l);
[[nodiscard]] std::string to_string(update_mode w);
[[nodiscard]] std::string to_string(page_configuration p);
[[nodiscard]] std::string to_string(hybrid_placement p);
[[nodiscard]] std::string to_string(host_copies c);

}  // namespace espalier
