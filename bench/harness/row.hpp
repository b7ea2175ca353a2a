// row.hpp - one measured row, and the formatting of rows.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/machine.hpp"

namespace espalier::bench {

struct peer_result {
  std::string name;
  double seconds = 0;         ///< for its `queries`
  std::uint64_t queries = 0;  ///< number of queries; keys for build and visit
  double ratio = 0;           ///< its seconds per query / the index's
};

/// Columns of the B-link tree only.
struct blink_columns {
  std::string policy;
  std::string upper;
  unsigned slots = 0;       ///< per node
  std::string path;         ///< path of writes; empty if there are none
  std::uint64_t batch = 0;  ///< elements that were inserted before the queries
  unsigned repeat = 0;
  // Columns of the matrix of batch distributions only.
  std::string batch_distribution;  ///< if not empty, `path` is as requested
  std::string chosen;              ///< the path that the automatic choice selected
  double of_better_path = 0;       ///< rate of the automatic path / rate of the better path; 0 if unknown
};

/// Columns of the radix tree only.
struct radix_columns {
  unsigned key_length = 0;  ///< 0 means natural lengths
  double long_share = 0;
  double mean_key_length = 0;
  std::uint64_t batch = 0;   ///< keys per call; 0 if there are none
  std::string path;          ///< for inserts and erases; otherwise empty
  unsigned streams = 0;      ///< concurrent batches of finds; otherwise 0
  double share_of_find = 0;  ///< for updates: rate / rate of finds of the same batch, each waited for; otherwise 0
  double share_of_enqueued_find = 0;  ///< the same for batches that are enqueued without waiting
};

/// Columns of the hybrid tree only.
struct hybrid_columns {
  std::string layout;
  std::string placement;     ///< as requested
  std::string ran;           ///< the actual placement
  std::string handling;      ///< of buckets; empty if there are none
  std::uint64_t bucket = 0;  ///< 0 if there are none
  std::string balance;
  unsigned levels = 0;  ///< levels that the host traverses for `share` of a bucket; one more for the rest
  double share = 1;
  std::string requests;                    ///< distribution of requests
  std::string pages;                       ///< as requested
  double huge_inner = 0, huge_leaves = 0;  ///< shares that the system provided
  std::string way;                         ///< for a write to the regular layout; otherwise empty
  std::uint64_t sent = 0;                  ///< bytes of inner levels that the last write, or the build, sent
  double send_seconds = 0;                 ///< part of the call's time for that
  std::uint64_t range_length = 0;
  std::uint64_t inner_bytes = 0;
  std::uint64_t device_bytes = 0;
  std::optional<std::uint64_t> leaf_cache;  ///< bytes, if the device reads leaves
  std::optional<double> tlb_misses;         ///< per query, if one thread runs the queries and the system counts them
  unsigned repeat = 0;
};

struct row {
  std::string index = "static";
  std::string device;
  std::string op;
  std::uint64_t keys = 0;
  std::uint64_t queries = 0;
  std::string key_type;
  std::string value_type;
  std::string distribution;
  unsigned threads = 0;   ///< 0 for a GPU
  unsigned pipeline = 0;  ///< concurrent queries per CPU thread; 0 means the library's choice
  std::string plan;       ///< empty if there is nothing to plan
  std::string aggregates;
  std::string location;              ///< of queries and results: "host" or "device"
  std::uint64_t range_elements = 0;  ///< total of all ranges
  double seconds = 0;
  double rate = 0;  ///< queries or operations per second; keys per second for build and visit
  double bytes_per_key = 0;
  std::optional<double> bandwidth_share;
  std::optional<blink_columns> blink;
  std::optional<radix_columns> radix;
  std::optional<hybrid_columns> hybrid;
  std::vector<peer_result> peers;
  std::vector<std::string> inapplicable_peers;  ///< requested, but without this operation
  std::vector<std::string> notes;
};

struct report {
  machine dev;
  std::string command;
  std::string date;
  double copy_bandwidth = 0;  ///< bytes per second, read + written, on the measured device
  std::uint64_t seed = 0;
  unsigned repeat = 0;
  std::vector<row> rows;
};

void write_table(const report& result, std::ostream& out);
void write_json(const report& result, std::ostream& out);
void write_csv(const report& result, std::ostream& out);

/// Formats as 38.1 G/s, 2.4 M/s.
[[nodiscard]] std::string rate_text(double per_second);
/// Formats a power of two above a thousand as 2^24, other numbers in decimal.
[[nodiscard]] std::string size_text(std::uint64_t n);
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string ratio_text(double ratio);

}  // namespace espalier::bench
