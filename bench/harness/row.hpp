// row.hpp - one measured line and how lines are written.
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
  std::uint64_t queries = 0;  ///< how many it was given; keys for build and visit
  double ratio = 0;           ///< its seconds per query / the index's
};

/// What only rows of the B-link tree have.
struct blink_columns {
  std::string policy;
  std::string upper;
  unsigned slots = 0;       ///< of a node
  std::string path;         ///< how writes were done; empty where there are none
  std::uint64_t batch = 0;  ///< elements that were inserted before the questions
  unsigned repeat = 0;
  // Of the matrix of batch distributions alone:
  std::string batch_distribution;  ///< not empty: `path` is as asked for
  std::string chosen;              ///< what an automatic path came to
  double of_better_path = 0;       ///< rate of the automatic path / rate of the better path; 0: not known
};

/// What only rows of the radix tree have.
struct radix_columns {
  unsigned key_length = 0;  ///< 0: natural lengths
  double long_share = 0;
  double mean_key_length = 0;
  std::uint64_t batch = 0;   ///< keys of one call; 0 where there are none
  std::string path;          ///< of inserts and erases; empty elsewhere
  unsigned streams = 0;      ///< batches of finds in flight; 0 elsewhere
  double share_of_find = 0;  ///< of updates: their rate beside finds of the same batch, each waited for; 0 elsewhere
  double share_of_enqueued_find = 0;  ///< the same where batches are enqueued one behind the other
};

/// What only rows of the hybrid tree have.
struct hybrid_columns {
  std::string layout;
  std::string placement;     ///< as asked for
  std::string ran;           ///< who walked what
  std::string handling;      ///< of buckets; empty where there are none
  std::uint64_t bucket = 0;  ///< 0 where there are none
  std::string balance;
  unsigned levels = 0;  ///< that the host walks, of `share` of a bucket, and one more of the others
  double share = 1;
  std::string requests;                    ///< which keys are asked for
  std::string pages;                       ///< as asked for
  double huge_inner = 0, huge_leaves = 0;  ///< shares that the system gave
  std::string way;                         ///< of a write to the regular layout; empty elsewhere
  std::uint64_t sent = 0;                  ///< bytes of inner levels that the last write sent, or the build
  double send_seconds = 0;                 ///< of the call's, how long that took
  std::uint64_t range_length = 0;
  std::uint64_t inner_bytes = 0;
  std::uint64_t device_bytes = 0;
  std::optional<std::uint64_t> leaf_cache;  ///< bytes, if the device reads leaves
  std::optional<double> tlb_misses;         ///< of a query, where one thread asks and the system counts them
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
  unsigned threads = 0;   ///< 0 on a GPU
  unsigned pipeline = 0;  ///< queries that a CPU thread has under way at once; 0: as many as the library takes
  std::string plan;       ///< empty where there is nothing to plan
  std::string aggregates;
  std::string location;              ///< of queries and answers: "host" or "device"
  std::uint64_t range_elements = 0;  ///< in all ranges together
  double seconds = 0;
  double rate = 0;  ///< queries or operations per second; keys per second for build and visit
  double bytes_per_key = 0;
  std::optional<double> bandwidth_share;
  std::optional<blink_columns> blink;
  std::optional<radix_columns> radix;
  std::optional<hybrid_columns> hybrid;
  std::vector<peer_result> peers;
  std::vector<std::string> inapplicable_peers;  ///< asked for, but without this operation
  std::vector<std::string> notes;
};

struct report {
  machine dev;
  std::string command;
  std::string date;
  double copy_bandwidth = 0;  ///< bytes per second, read + written, on the device measured
  std::uint64_t seed = 0;
  unsigned repeat = 0;
  std::vector<row> rows;
};

void write_table(const report& result, std::ostream& out);
void write_json(const report& result, std::ostream& out);
void write_csv(const report& result, std::ostream& out);

/// 38.1 G/s, 2.4 M/s
[[nodiscard]] std::string rate_text(double per_second);
/// 2^24 where it is a power of two above a thousand, else the number
[[nodiscard]] std::string size_text(std::uint64_t n);
[[nodiscard]] std::string seconds_text(double seconds);
[[nodiscard]] std::string ratio_text(double ratio);

}  // namespace espalier::bench
