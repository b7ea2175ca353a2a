// options.hpp - what `espalier bench` was asked to do. Lists are axes: one index and its rows for each combination.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/names.hpp"

namespace espalier::bench {

/// Arguments that make no sense: one sentence for the user, exit code 2.
class bad_arguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The index and a peer disagree: a defect, exit code 1.
class wrong_answer : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class device_choice : std::uint8_t { automatic, cpu, gpu };

struct options {
  device_choice where = device_choice::automatic;
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
  plan how = plan::automatic;
  std::optional<node_search> search;  ///< nothing: the library's own choice
  double hit_rate = 1.0;
  unsigned repeat = 5;
  std::uint64_t seed = 1;
  bool force_peers = false;
  std::string command;
};

/// As typed: comma-separated words, numbers as 1000, 1e6 or 2^24.
struct raw_options {
  std::string index = "static";
  std::string device = "auto";
  std::string keys = "2^24";
  std::string queries = "2^22";
  std::string key_type = "u32";
  std::string value_type;
  std::string distribution = "uniform";
  std::string ops = "build,find,lower-bound,range,count,sum,visit";
  std::string peers;
  std::string threads = "0";
  std::string range_length;
  std::string plan = "automatic";
  std::string node_search;
  std::string aggregates;
  std::string hit_rate = "1";
  std::string repeat = "5";
  std::string seed = "1";
  std::string format = "table";
  std::string out;
  bool force_peers = false;
};

/// Throws bad_arguments with one sentence.
[[nodiscard]] options parse_options(const raw_options& raw);
[[nodiscard]] std::uint64_t parse_number(std::string_view what, std::string_view text);

}  // namespace espalier::bench
