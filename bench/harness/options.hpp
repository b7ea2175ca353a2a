// options.hpp - the parsed arguments of a benchmark. Lists are axes: there is one index with its rows per combination.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/data/byte_generators.hpp"
#include "bench/harness/cli_names.hpp"
#include "cli/errors.hpp"

namespace espalier::bench {

enum class device_choice : std::uint8_t { automatic, cpu, gpu };

/// A number of queries that depends on the number of keys, so that small indexes do not take as long as large ones.
inline constexpr std::uint64_t as_suits_the_keys = ~std::uint64_t{0} - 1;
/// One query per key of the index.
inline constexpr std::uint64_t as_many_as_keys = ~std::uint64_t{0};

/// Above this, checking all invariants takes longer than all measurements.
inline constexpr std::uint64_t most_validated_keys = std::uint64_t{1} << 20;

/// The maximum number of concurrent batches; more threads would only wait for each other.
inline constexpr std::uint64_t most_streams = 256;

/// The maximum bucket of the hybrid tree; buckets are buffers on host and device.
inline constexpr std::uint64_t most_bucket = std::uint64_t{1} << 26;

/// Options of the B-link tree only.
struct blink_choices {
  std::vector<blink_shape> shapes;
  std::vector<write_path> paths;
  std::optional<std::uint64_t> batch;                   ///< nothing means as many as queries
  std::vector<batch_distribution> batch_distributions;  ///< if not empty, the matrix of these (distribution_matrix.hpp)
  std::vector<std::uint64_t> batches;                   ///< is measured with these batch sizes
  std::optional<request_order> requests;                ///< nothing means zipf for YCSB, otherwise uniform
  double fill = 0.75;
};

/// Options of the radix tree only.
struct radix_choices {
  std::vector<radix_path> paths;       ///< for inserts and erases
  std::vector<std::uint64_t> batches;  ///< keys per write or find call; empty means as many as queries
  std::vector<std::uint64_t> streams;  ///< concurrent batches of finds; 0 means as many as useful
  std::vector<location> places;        ///< of queries, results and written keys; empty means the tree's own memory
};

/// Options of the hybrid tree only. Lists are axes.
struct hybrid_choices {
  std::vector<hybrid_layout> layouts;
  std::vector<hybrid_placement> placements;
  std::vector<unsigned> queue_depths;
  std::vector<std::uint64_t> buckets;  ///< queries per bucket
  std::vector<balancing> balances;
  std::vector<page_configuration> pages;
  std::vector<update_mode> ways;  ///< for writes to the regular layout
  std::vector<request_order> requests;
  std::optional<std::uint64_t> gpu_memory;
  std::optional<std::uint64_t> leaf_cache;
  std::optional<std::uint64_t> window;
  host_memory_kind memory = host_memory_kind::pinned;  ///< for queries and results
  double fill = 0.75;                                  ///< of the leaves of the regular layout
};

struct options {
  index_kind index = index_kind::static_tree;
  blink_choices blink;
  radix_choices radix;
  hybrid_choices hybrid;
  std::vector<byte_spec> byte_data_sets;  ///< for the radix tree, which has neither key types nor distributions
  std::vector<long_key_mode> long_keys{long_key_mode::on_device};  ///< for the radix tree
  bool long_keys_named = false;                                    ///< set by the user, so that rows show it
  device_choice dev = device_choice::automatic;
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> queries;
  std::vector<scalar_kind> key_types;
  std::optional<scalar_kind> value_type;  ///< nothing means as wide as the key
  std::vector<distribution> distributions;
  std::vector<operation> operations;
  std::vector<std::string> peers;
  bool peers_named = false;            ///< set by the user, so that omitted peers are reported
  std::vector<std::uint64_t> threads;  ///< 0 means all cores
  std::optional<std::uint64_t> range_length;
  std::optional<aggregates> keep;
  query_plan how = query_plan::automatic;
  std::optional<node_search> search;  ///< nothing means the library's choice
  double hit_rate = 1.0;
  unsigned repeat = 5;
  unsigned write_repeat = 3;  ///< for operations before which the index is restored
  std::uint64_t seed = 1;
  bool force_peers = false;
  std::string command;
};

/// The options as typed: comma-separated words, numbers as 1000, 1e6 or 2^24.
struct raw_options {
  std::string index = "static";  ///< name of the subcommand
  std::string device = "auto";
  std::string keys = "2^24";
  std::string queries;  ///< empty means a default for the number of keys
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
  std::string left;
  std::string joins;
  std::string orders;
  std::string places;
  bool force_peers = false;
};

/// Returns the default of --ops.
[[nodiscard]] const char* default_operations(index_kind index);

/// Throws bad_arguments with one sentence.
[[nodiscard]] options parse_options(const raw_options& raw);
[[nodiscard]] std::uint64_t parse_number(std::string_view what, std::string_view text);
[[nodiscard]] std::vector<std::string> split_list(std::string_view what, const std::string& text);

}  // namespace espalier::bench
