// options.hpp - what a caller may choose, and what the hybrid tree tells about itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "espalier/static_tree/options.hpp"  // interval, range_options, validation

namespace espalier {

/// How the tree is kept in host memory.
enum class hybrid_layout : std::uint8_t {
  /// Arrays addressed by number, no pointers: a static tree. Fastest to search. Host memory: 1.23 times that of keys
  /// and values of 8 bytes, 1.04 times without aggregates (`keep`). A write builds it anew beside the old one, and
  /// needs
  /// a copy of all pairs meanwhile.
  implicit,
  /// Nodes with links: a B-link tree with an express lane. Takes batches of writes. Host memory: twice that of keys and
  /// values of 8 bytes, 1.5 times with full leaves (`fill`), and room for leaves that a synchronised write might make.
  regular,
};

/// Who walks what. The leaves are in host memory in any case.
enum class hybrid_placement : std::uint8_t {
  automatic,     ///< as measured
  host_alone,    ///< the CPU walks all levels
  shared,        ///< the device walks the inner levels, the CPU goes on in the leaves
  device_alone,  ///< the device walks all levels, and reads leaves in host memory itself (implicit layout)
  both,          ///< some buckets `shared`, others `device_alone`, as each of the two has time
};

/// How a write to the regular layout brings the inner levels up to date (the HB+-tree paper's two ways). The implicit
/// layout is built anew.
enum class update_mode : std::uint8_t {
  automatic,     ///< by what both would cost for the batch
  asynchronous,  ///< the batch is sorted and merged by all threads; then inner levels that changed are sent as a whole
  synchronised,  ///< key by key; inner levels stay while few steps lead on to all leaves, then what differs is sent
};

/// Pages of the two segments in host memory (the three of the HB+-tree paper), as far as the system gives them. Blocks
/// below 2 MiB come from the heap in any case.
enum class page_configuration : std::uint8_t {
  huge,        ///< for leaves and inner levels
  huge_inner,  ///< for inner levels; small ones for leaves
  small,       ///< for neither
};

/// How buckets of queries follow each other.
enum class queue_depth : std::uint8_t {
  sequential,       ///< up, walk, down, leaves: one bucket after the other
  pipelined,        ///< the device begins with the next bucket when this one's answer has come back
  double_buffered,  ///< the device always has a second bucket waiting
};

/// How keys get from the caller's memory to the device, and answers back.
enum class host_copies : std::uint8_t {
  automatic,  ///< straight where that memory is pinned (device::host_pool()), which spares the CPU two copies
  staged,     ///< by way of pinned memory of the tree
};

/// How the inner levels of a bucket are shared out: the CPU walks `levels` of them for the first `share` of the
/// queries, and one more for the others. There are two: the table, and the headers of groups.
struct load_balance {
  unsigned levels = 0;
  double share = 1;
  friend bool operator==(const load_balance&, const load_balance&) = default;
};

struct hybrid_options {
  hybrid_layout layout = hybrid_layout::implicit;
  double fill = 0.75;            ///< of the leaves of the regular layout, 0.25 to 1
  std::size_t bucket = 1 << 21;  ///< queries that travel together, at most
  /// Queries at most that a device orders by leaf before it reads leaves itself; less where there is less room, and
  /// never less than a bucket. The more of them, the nearer to each other are the leaves, and the more share one.
  std::size_t window = 1 << 26;
  /// What the implicit layout keeps so that sum, min and max of a range cost the same whatever its length; the regular
  /// one looks at all of a range's leaves.
  aggregates keep = aggregates::all;
  /// Bytes that the tree may take of the device's memory. What does not fit is walked by the CPU.
  std::size_t gpu_memory = std::numeric_limits<std::size_t>::max();
  /// Of these, bytes for copies of leaves that are often asked for, or of all if they fit; less where there is less
  /// room. By default a quarter of what a GPU has left, and nothing where the device is a CPU.
  std::optional<std::size_t> leaf_cache = {};
  unsigned threads = 0;  ///< of the host; 0: all cores
  page_configuration pages = page_configuration::huge;
};

struct hybrid_query_options {
  hybrid_placement placement = hybrid_placement::automatic;
  queue_depth buckets = queue_depth::double_buffered;
  std::optional<load_balance> balance = {};  ///< else as tuned, and as the load shifts
  host_copies copies = host_copies::automatic;
};

/// What the last write did, or the build.
struct hybrid_update {
  update_mode way = update_mode::automatic;  ///< automatic: there was none, or all was built anew
  std::size_t sent = 0;                      ///< bytes of inner levels that went to the device
  double send_seconds = 0;                   ///< how long that took, with the search for what differs
  std::string reason;                        ///< why, in one sentence
};

/// Pages of the host memory, as the system counts them now.
struct hybrid_pages {
  page_configuration asked = page_configuration::huge;
  std::size_t inner_bytes = 0;       ///< all but the leaves
  std::size_t huge_inner_bytes = 0;  ///< of those on huge pages
  std::size_t leaf_bytes = 0;
  std::size_t huge_leaf_bytes = 0;
  std::string reason;  ///< if the system gives none of those that were asked for: why, in one sentence
};

struct hybrid_stats {
  std::size_t size = 0;                                       ///< elements
  std::size_t host_bytes = 0;                                 ///< leaves, also those to come, and inner levels
  std::size_t inner_bytes = 0;                                ///< inner levels
  std::size_t device_bytes = 0;                               ///< its inner levels, buckets, copies of leaves
  bool reads_leaves = false;                                  ///< the device has been asked to, and can
  std::size_t leaf_cache_bytes = 0;                           ///< of these, copies of leaves
  hybrid_placement placement = hybrid_placement::host_alone;  ///< of large batches of finds
  hybrid_placement last = hybrid_placement::automatic;  ///< of the last batch of finds or rows; automatic: none yet
  load_balance balance;
  std::string reason;  ///< why, in one sentence
  hybrid_update update;
  hybrid_pages pages;
};

[[nodiscard]] std::string to_string(hybrid_layout l);
[[nodiscard]] std::string to_string(update_mode w);
[[nodiscard]] std::string to_string(page_configuration p);
[[nodiscard]] std::string to_string(hybrid_placement p);
[[nodiscard]] std::string to_string(queue_depth b);
[[nodiscard]] std::string to_string(host_copies c);

}  // namespace espalier
