// options.hpp - the arguments of a benchmark, parsed. Lists are axes: one index and its rows for each combination.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/data/byte_generators.hpp"
#include "bench/harness/cli_names.hpp"
#include "bench/harness/errors.hpp"

namespace espalier::bench {

enum class device_choice : std::uint8_t { automatic, cpu, gpu };

/// A number of queries: what suits the keys, so that small indexes do not take as long as large ones.
inline constexpr std::uint64_t as_suits_the_keys = ~std::uint64_t{0} - 1;
/// One for each key of the index.
inline constexpr std::uint64_t as_many_as_keys = ~std::uint64_t{0};

/// Above this, checking every invariant takes longer than all measurements.
inline constexpr std::uint64_t most_validated_keys = std::uint64_t{1} << 20;

/// Batches in flight at once: more threads than that only wait for each other.
inline constexpr std::uint64_t most_streams = 256;

/// Of the hybrid tree: buckets are buffers on host and device.
inline constexpr std::uint64_t most_bucket = std::uint64_t{1} << 26;

/// What only the B-link tree has.
struct blink_choices {
  std::vector<blink_shape> shapes;
  std::vector<write_path> paths;
  std::optional<std::uint64_t> batch;                   ///< nothing: as many as queries
  std::vector<batch_distribution> batch_distributions;  ///< not empty: the matrix of these (distribution_matrix.hpp),
  std::vector<std::uint64_t> batches;                   ///< and batches of these sizes
  std::optional<request_order> requests;                ///< nothing: zipf for YCSB, else uniform
  double fill = 0.75;
};

/// What only the radix tree has.
struct radix_choices {
  std::vector<radix_path> paths;       ///< of inserts and erases
  std::vector<std::uint64_t> batches;  ///< keys of a write or of one call that finds; empty: as many as queries
  std::vector<std::uint64_t> streams;  ///< batches of finds in flight at once; 0: as many as are useful
  std::vector<location> places;        ///< of queries, answers and keys that are written; empty: the tree's own memory
};

/// What only the hybrid tree has. Lists are axes.
struct hybrid_choices {
  std::vector<hybrid_layout> layouts;
  std::vector<hybrid_placement> placements;
  std::vector<queue_depth> handlings;
  std::vector<std::uint64_t> buckets;  ///< queries that travel together
  std::vector<balancing> balances;
  std::vector<page_configuration> pages;
  std::vector<update_mode> ways;  ///< of writes to the regular layout
  std::vector<request_order> requests;
  std::optional<std::uint64_t> gpu_memory;
  std::optional<std::uint64_t> leaf_cache;
  std::optional<std::uint64_t> window;
  host_memory_kind memory = host_memory_kind::pinned;  ///< of queries and answers
  double fill = 0.75;                                  ///< of the leaves of the regular layout
};

struct options {
  index_kind index = index_kind::static_tree;
  blink_choices blink;
  radix_choices radix;
  hybrid_choices hybrid;
  std::vector<byte_spec> byte_data_sets;  ///< of the radix tree, which has neither key types nor distributions
  std::vector<long_key_mode> long_keys{long_key_mode::on_device};  ///< likewise
  bool long_keys_named = false;                                    ///< by the user: then rows tell theirs
  device_choice dev = device_choice::automatic;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> queries;
  std::vector<scalar_kind> key_types;
  std::optional<scalar_kind> value_type;  ///< nothing: as wide as the key
  std::vector<distribution> distributions;
  std::vector<operation> operations;
  std::vector<std::string> peers;
  bool peers_named = false;            ///< by the user: then those left out are mentioned
  std::vector<std::uint64_t> threads;  ///< 0: all cores
  std::optional<std::uint64_t> range_length;
  std::optional<aggregates> keep;
  query_plan how = query_plan::automatic;
  std::optional<node_search> search;  ///< nothing: the library's own choice
  double hit_rate = 1.0;
  unsigned repeat = 5;
  unsigned write_repeat = 3;  ///< of operations before which the index is restored
  std::uint64_t seed = 1;
  bool force_peers = false;
  std::string command;
};

/// As typed: comma-separated words, numbers as 1000, 1e6 or 2^24.
struct raw_options {
  std::string index = "static";  ///< of the subcommand
  std::string device = "auto";
  std::string keys = "2^24";
  std::string queries;  ///< empty: as suits the keys
  std::string key_type;
  std::string value_type;
  std::string distribution = "uniform";
  std::string ops;
  std::string peers;
  std::string threads = "0";
  std::string range_length;
  std::string plan;
  std::string node_search;
  std::string aggregates;
  std::string hit_rate = "1";
  std::string repeat;
  std::string seed = "1";
  std::string format = "table";
  std::string out;
  std::string policy;
  std::string upper;
  std::string slots;
  std::string path;
  std::string batch;
  std::string batch_distribution;
  std::string requests;
  std::string fill;
  std::string key_length;
  std::string long_share;
  std::string long_keys;
  std::string streams;
  std::string location;
  std::string layout;
  std::string placement;
  std::string buckets;
  std::string bucket;
  std::string balance;
  std::string pages;
  std::string way;
  std::string gpu_memory;
  std::string leaf_cache;
  std::string window;
  std::string host_memory;
  std::string trace;
  std::string max_keys;
  std::string parts;
  std::string duckdb_python;
  std::string load_bytes;
  bool force_peers = false;
};

/// What is measured if --ops is not given.
[[nodiscard]] const char* default_operations(index_kind index);

/// Throws bad_arguments with one sentence.
[[nodiscard]] options parse_options(const raw_options& raw);
[[nodiscard]] std::uint64_t parse_number(std::string_view what, std::string_view text);
[[nodiscard]] std::vector<std::string> split_list(std::string_view what, const std::string& text);

}  // namespace espalier::bench
