// options.cpp - from words to options; every refusal is one sentence that names the argument and the choices.
#include "bench/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "bench/generators.hpp"
#include "bench/peer.hpp"

namespace espalier::bench {
namespace {

std::vector<std::string> split(std::string_view what, const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    if (words.back().empty()) throw bad_arguments(fmt::format("--{} has an empty entry in '{}'.", what, text));
    at = end + 1;
  }
  return words;
}

template <class Table>
auto parse_name(std::string_view what, const Table& table, std::string_view name) {
  const auto found = from_name(table, name);
  if (!found) throw bad_arguments(fmt::format("--{} does not know '{}': choose from {}.", what, name, choices(table)));
  return *found;
}

template <class Table>
auto parse_names(std::string_view what, const Table& table, const std::string& text) {
  std::vector<decltype(table[0].value)> list;
  for (const auto& word : split(what, text)) list.push_back(parse_name(what, table, word));
  return list;
}

std::vector<std::uint64_t> parse_numbers(std::string_view what, const std::string& text) {
  std::vector<std::uint64_t> list;
  for (const auto& word : split(what, text)) list.push_back(parse_number(what, word));
  return list;
}

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  return status == std::errc{} && end == text.data() + text.size();
}

device_choice parse_device(const std::string& text) {
  if (text == "auto") return device_choice::automatic;
  if (text == "cpu") return device_choice::cpu;
  if (text == "gpu") return device_choice::gpu;
  throw bad_arguments(fmt::format("--device does not know '{}': choose cpu, gpu or auto.", text));
}

void check_peers(const std::vector<std::string>& peers) {
  for (const auto& name : peers) {
    const auto& known = known_peers();
    if (std::any_of(known.begin(), known.end(), [&](const peer_entry& p) { return p.name == name; })) continue;
    std::string list;
    for (const auto& p : known) {
      if (list.find(p.name) == std::string::npos) list += (list.empty() ? "" : ", ") + std::string(p.name);
    }
    throw bad_arguments(fmt::format("--peers does not know '{}': choose from {}.", name, list));
  }
}

/// Peers that tell most: binary search or its parallel, and the floor of build and visit.
const char* default_peers = "lower-bound,tbb-sort,thrust-lower-bound,cub-sort,reduce";

void check_sizes(const options& o) {
  for (const auto n : o.keys) {
    for (const auto key : o.key_types) {
      if (bytes_of(key) == 4 && n >= std::uint64_t{1} << 32) {
        throw bad_arguments(fmt::format("--keys {} is too large for {}: give fewer than 2^32.", n, name_of(key)));
      }
      for (const auto shape : o.distributions) {
        if (n > most_keys(shape, key)) {
          throw bad_arguments(fmt::format("--keys {} is too large for {} keys of distribution {}: give at most {}.", n,
                                          name_of(key), name_of(shape), most_keys(shape, key)));
        }
      }
    }
  }
  if (o.keep && o.keep != aggregates::all) {
    for (const auto op : o.operations) {
      const aggregates needed = needed_by(op);
      if (needed != aggregates::none && needed != *o.keep) {
        throw bad_arguments(fmt::format("--ops {} needs --aggregates {}, or leave --aggregates out.", name_of(op),
                                        name_in(aggregates_names, needed)));
      }
    }
  }
}

void parse_scalars(const raw_options& raw, options& o) {
  if (!parse_whole(raw.hit_rate, o.hit_rate) || !(o.hit_rate >= 0 && o.hit_rate <= 1)) {
    throw bad_arguments(fmt::format("--hit-rate is '{}': give a number from 0 to 1.", raw.hit_rate));
  }
  const std::uint64_t repeat = parse_number("repeat", raw.repeat);
  if (repeat == 0 || repeat > 1000) {
    throw bad_arguments(fmt::format("--repeat is '{}': give a number from 1 to 1000.", raw.repeat));
  }
  o.repeat = static_cast<unsigned>(repeat);
  o.seed = parse_number("seed", raw.seed);
  for (const auto t : o.threads) {
    if (t > 4096) throw bad_arguments(fmt::format("--threads is '{}': give at most 4096, or 0 for all cores.", t));
  }
}

}  // namespace

std::uint64_t parse_number(std::string_view what, std::string_view text) {
  std::uint64_t value = 0;
  if (parse_whole(text, value)) return value;
  unsigned exponent = 0;
  if (text.starts_with("2^") && parse_whole(text.substr(2), exponent) && exponent < 64) {
    return std::uint64_t{1} << exponent;
  }
  double real = 0;
  if (text.find_first_of("eE") != std::string_view::npos && parse_whole(text, real) && real >= 0 && real < 1e18 &&
      real == std::floor(real)) {
    return static_cast<std::uint64_t>(real);
  }
  throw bad_arguments(fmt::format("--{} is '{}': give a whole number such as 1000000, 1e6 or 2^20.", what, text));
}

options parse_options(const raw_options& raw) {
  options o;
  if (raw.index != "static") {
    throw bad_arguments(fmt::format("--index does not know '{}': choose from static.", raw.index));
  }
  o.where = parse_device(raw.device);
  o.keys = parse_numbers("keys", raw.keys);
  o.queries = parse_numbers("queries", raw.queries);
  o.key_types = parse_names("key-type", key_type_names, raw.key_type);
  if (!raw.value_type.empty()) o.value_type = parse_name("value-type", value_type_names, raw.value_type);
  o.distributions = parse_names("distribution", distribution_names, raw.distribution);
  o.operations = parse_names("ops", operation_names, raw.ops);
  if (raw.peers != "none") o.peers = split("peers", raw.peers.empty() ? default_peers : raw.peers);
  o.peers_named = !raw.peers.empty();
  check_peers(o.peers);
  o.threads = parse_numbers("threads", raw.threads);
  if (!raw.range_length.empty()) o.range_length = parse_number("range-length", raw.range_length);
  o.how = parse_name("plan", plan_names, raw.plan);
  if (!raw.node_search.empty()) o.search = parse_name("node-search", node_search_names, raw.node_search);
  if (!raw.aggregates.empty()) o.keep = parse_name("aggregates", aggregates_names, raw.aggregates);
  o.force_peers = raw.force_peers;
  parse_scalars(raw, o);
  check_sizes(o);
  return o;
}

}  // namespace espalier::bench
