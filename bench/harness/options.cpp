// options.cpp - parses options; every error is one sentence with the argument and the choices. Formats numbers, too:
// both are needed by builds without `espalier bench`.
#include "bench/harness/options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <utility>

#include "bench/data/batch_layout.hpp"
#include "bench/data/generators.hpp"
#include "bench/harness/row.hpp"
#include "bench/peers/peer.hpp"

namespace espalier::bench {
namespace {

template <class Table>
auto parse_name(std::string_view what, const Table& table, std::string_view name) {
  const auto found = from_name(table, name);
  if (!found)
    throw cli::bad_arguments(fmt::format("--{} does not know '{}': choose from {}.", what, name, choices(table)));
  return *found;
}

template <class Table>
auto parse_names(std::string_view what, const Table& table, const std::string& text) {
  std::vector<decltype(table[0].value)> list;
  for (const auto& word : split_list(what, text)) list.push_back(parse_name(what, table, word));
  return list;
}

std::vector<std::uint64_t> parse_numbers(std::string_view what, const std::string& text) {
  std::vector<std::uint64_t> list;
  for (const auto& word : split_list(what, text)) list.push_back(parse_number(what, word));
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
  throw cli::bad_arguments(fmt::format("--device does not know '{}': choose cpu, gpu or auto.", text));
}

void check_peers(const std::vector<std::string>& peers) {
  for (const auto& name : peers) {
    const auto& known = known_peers();
    if (std::any_of(known.begin(), known.end(), [&](const peer_entry& p) { return p.name == name; })) continue;
    std::string list;
    for (const auto& p : known) {
      if (list.find(p.name) == std::string::npos) list += (list.empty() ? "" : ", ") + std::string(p.name);
    }
    throw cli::bad_arguments(fmt::format("--peers does not know '{}': choose from {}.", name, list));
  }
}

/// The most informative peers: binary search or its parallel version, and the lower bounds of build and visit; maps for
/// an updatable tree and for strings.
const char* default_peers(index_kind index) {
  if (index == index_kind::static_tree) return "lower-bound,tbb-sort,thrust-lower-bound,cub-sort,reduce";
  return index == index_kind::blink ? "std-map,absl-btree,reduce" : "std-map,absl-btree";
}

std::vector<std::uint64_t> parse_queries(const std::string& text) {
  std::vector<std::uint64_t> list;
  for (const auto& word : split_list("queries", text)) {
    list.push_back(word == "keys" ? as_many_as_keys : parse_number("queries", word));
  }
  return list;
}

void check_operations(const options& o) {
  for (const auto op : o.operations) {
    if (!serves(o.index, op)) {
      throw cli::bad_arguments(fmt::format("--ops {} is not an operation of `espalier bench {}`: choose from {}.",
                                           name_of(op), name_in(index_names, o.index), operations_of(o.index)));
    }
    if (updates(op) && o.value_type == no_value) {
      throw cli::bad_arguments(
          fmt::format("--ops {} changes values: give a --value-type other than none.", name_of(op)));
    }
  }
}

template <class Table>
void require_built(std::string_view what, const Table& table, scalar_kind kind) {
  if (is_built(kind)) return;
  throw cli::bad_arguments(
      fmt::format("--{} {} is not built into this program: configure it with -DESPALIER_BENCH_ALL_TYPES=ON, or choose "
                  "from {}.",
                  what, name_of(kind), built_choices(table)));
}

/// Returns every combination; without --upper each protocol uses its best inner index.
std::vector<blink_shape> parse_shapes(const raw_options& raw) {
  std::vector<blink_shape> shapes;
  const auto slots = parse_numbers("slots", raw.slots.empty() ? "0" : raw.slots);
  for (const auto how : parse_names("policy", protocol_names, raw.policy.empty() ? "link" : raw.policy)) {
    std::vector<inner_index> above{how == protocol::latch_coupling ? inner_index::inner_nodes
                                                                   : inner_index::express_lane};
    if (!raw.upper.empty()) above = parse_names("upper", upper_names, raw.upper);
    for (const auto u : above) {
      for (const auto s : slots) {
        if (s > 4096)
          throw cli::bad_arguments(fmt::format("--slots is '{}': give 8 to 4096, or 0 for the default.", s));
        shapes.push_back({how, u, static_cast<unsigned>(s)});
      }
    }
  }
  return shapes;
}

double parse_fill(const raw_options& raw, double otherwise) {
  double fill = otherwise;
  if (!raw.fill.empty() && (!parse_whole(raw.fill, fill) || !(fill >= 0.25 && fill <= 1))) {
    throw cli::bad_arguments(fmt::format("--fill is '{}': give a number from 0.25 to 1.", raw.fill));
  }
  return fill;
}

const char* const every_path = "per-key,bulk,automatic";

/// Parses the matrix of --batch-distribution. Options of other measurements are refused, since they would have no
/// effect.
void parse_matrix(const raw_options& raw, blink_choices& b) {
  b.batch_distributions = parse_names("batch-distribution", batch_distribution_names, raw.batch_distribution);
  b.batches = parse_numbers("batch", raw.batch.empty() ? "2^8,2^12,2^16,2^20" : raw.batch);
  for (const auto n : b.batches) {
    if (n == 0) throw cli::bad_arguments("--batch is '0': with --batch-distribution a batch has one key at least.");
  }
  if (b.shapes.size() > 1) {
    throw cli::bad_arguments("--batch-distribution takes one shape: give one each of --policy, --upper and --slots.");
  }
  const std::array unread{std::pair{"requests", !raw.requests.empty()}, std::pair{"queries", !raw.queries.empty()},
                          std::pair{"distribution", raw.distribution != "uniform"},
                          std::pair{"hit-rate", raw.hit_rate != "1"}, std::pair{"trace", !raw.trace.empty()}};
  for (const auto& [name, given] : unread) {
    if (given) throw cli::bad_arguments(fmt::format("--{} is not for --batch-distribution.", name));
  }
}

/// Checks that require all options. The keys are derived from words, so that their positions are known.
void check_matrix(const options& o) {
  const bool by_ref =
      std::find(o.operations.begin(), o.operations.end(), operation::insert_by_ref) != o.operations.end();
  if (by_ref && o.blink.batch_distributions.empty()) {
    throw cli::bad_arguments("--ops insert-by-ref is for --batch-distribution alone: give a distribution.");
  }
  if (o.blink.batch_distributions.empty()) return;
  for (const auto op : o.operations) {
    if (op != operation::insert && op != operation::erase && op != operation::insert_by_ref) {
      throw cli::bad_arguments(
          fmt::format("--ops {} is not for --batch-distribution: choose insert, erase, insert-by-ref.", name_of(op)));
    }
  }
  for (const auto& name : o.peers) {
    if (name != "absl-btree" && name != "std-map" && o.peers_named) {
      throw cli::bad_arguments(
          fmt::format("--peers {} is not for --batch-distribution: choose absl-btree, std-map.", name));
    }
  }
  for (const auto key : o.key_types) {
    if (key != scalar_kind::u32 && key != scalar_kind::u64) {
      throw cli::bad_arguments(
          fmt::format("--key-type {} is not for --batch-distribution: choose u32, u64.", name_of(key)));
    }
    for (const auto n : o.keys) {
      for (const auto batch : o.blink.batches) {
        if (!batch_layout(key, n, o.seed).has_room_for(batch)) {
          throw cli::bad_arguments(
              fmt::format("--batch {} is too large for a tree of {} keys of type {}.", batch, n, name_of(key)));
        }
      }
    }
  }
}

blink_choices parse_blink(const raw_options& raw) {
  blink_choices b;
  b.shapes = parse_shapes(raw);
  if (!raw.batch_distribution.empty()) parse_matrix(raw, b);
  const bool matrix = !b.batch_distributions.empty();
  b.paths = parse_names("path", path_names, !raw.path.empty() ? raw.path : matrix ? every_path : "automatic");
  if (!raw.batch.empty() && !matrix) b.batch = parse_number("batch", raw.batch);
  if (!raw.requests.empty()) b.requests = parse_name("requests", request_names, raw.requests);
  // The keys of a B-link tree arrive in random order, which updates follow, so there are no ranks to draw by.
  if (b.requests == request_order::normal || b.requests == request_order::gamma) {
    throw cli::bad_arguments(fmt::format("--requests {} is for `espalier bench hybrid` alone.", raw.requests));
  }
  b.fill = parse_fill(raw, b.fill);
  return b;
}

hybrid_choices parse_hybrid(const raw_options& raw) {
  const auto or_else = [](const std::string& text, const char* otherwise) { return text.empty() ? otherwise : text; };
  hybrid_choices h;
  h.layouts = parse_names("layout", layout_names, or_else(raw.layout, "implicit"));
  h.placements = parse_names("placement", placement_names, or_else(raw.placement, "automatic"));
  h.queue_depths = parse_names("buckets", queue_depth_names, or_else(raw.buckets, "double-buffered"));
  h.buckets = parse_numbers("bucket", or_else(raw.bucket, "2^21"));
  for (const auto b : h.buckets) {
    if (b == 0 || b > most_bucket) {
      throw cli::bad_arguments(fmt::format("--bucket is '{}': give 1 to {}.", b, most_bucket));
    }
  }
  h.balances = parse_names("balance", balancing_names, or_else(raw.balance, "tuned"));
  h.pages = parse_names("pages", pages_names, or_else(raw.pages, "huge"));
  h.ways = parse_names("way", update_way_names, or_else(raw.way, "automatic"));
  h.requests = parse_names("requests", request_names, or_else(raw.requests, "uniform"));
  if (!raw.gpu_memory.empty()) h.gpu_memory = parse_number("gpu-memory", raw.gpu_memory);
  if (!raw.leaf_cache.empty()) h.leaf_cache = parse_number("leaf-cache", raw.leaf_cache);
  if (!raw.window.empty()) h.window = parse_number("window", raw.window);
  if (h.window == 0u) throw cli::bad_arguments("--window is '0': a window has one query at least.");
  if (!raw.host_memory.empty()) h.memory = parse_name("host-memory", host_memory_names, raw.host_memory);
  h.fill = parse_fill(raw, h.fill);
  const bool regular = std::find(h.layouts.begin(), h.layouts.end(), hybrid_layout::regular) != h.layouts.end();
  if (!regular && !raw.fill.empty())
    throw cli::bad_arguments("--fill is for --layout regular: the implicit one has no gaps.");
  if (!regular && !raw.way.empty())
    throw cli::bad_arguments("--way is for --layout regular: every write rebuilds the implicit layout.");
  return h;
}

radix_choices parse_radix(const raw_options& raw) {
  radix_choices r;
  r.paths = parse_names("path", radix_path_names, raw.path.empty() ? "automatic" : raw.path);
  if (!raw.batch.empty()) r.batches = parse_numbers("batch", raw.batch);
  for (const auto b : r.batches) {
    if (b == 0) throw cli::bad_arguments("--batch is '0': a batch has one key at least.");
  }
  r.streams = parse_numbers("streams", raw.streams.empty() ? "0" : raw.streams);
  for (const auto s : r.streams) {
    if (s > most_streams) throw cli::bad_arguments(fmt::format("--streams is '{}': give at most {}.", s, most_streams));
  }
  if (!raw.location.empty()) r.places = parse_names("location", location_names, raw.location);
  return r;
}

/// Returns every combination; without --key-length each data set uses its own.
std::vector<byte_spec> parse_byte_data(const raw_options& raw, std::uint64_t seed) {
  double long_share = 0;
  if (!raw.long_share.empty() && !parse_whole(raw.long_share, long_share)) {
    throw cli::bad_arguments(fmt::format("--long-share is '{}': give a number from 0 to 1.", raw.long_share));
  }
  std::vector<byte_spec> sets;
  for (const auto shape : parse_names("distribution", byte_data_names, raw.distribution)) {
    std::vector<std::uint64_t> lengths{default_key_length(shape)};
    if (!raw.key_length.empty()) lengths = parse_numbers("key-length", raw.key_length);
    for (const auto length : lengths) {
      if (length > most_key_length) {
        throw cli::bad_arguments(fmt::format("--key-length is '{}': give at most {}.", length, most_key_length));
      }
      sets.push_back({shape, static_cast<unsigned>(length), seed, long_share});
    }
  }
  return sets;
}

/// Checks the data sets before any of them is generated.
void check_byte_data(const options& o) {
  for (const auto& spec : o.byte_data_sets) {
    const byte_generator generator(spec);
    for (const auto n : o.keys) {
      if (n >= 0xffffffffu) {
        throw cli::bad_arguments(fmt::format("--keys {} is too large for a radix tree: give fewer than 2^32 - 1.", n));
      }
      require_keys(generator, 0, n);
    }
  }
}

void check_sizes(const options& o) {
  for (const auto n : o.keys) {
    for (const auto key : o.key_types) {
      if (bytes_of(key) == 4 && n >= std::uint64_t{1} << 32) {
        throw cli::bad_arguments(fmt::format("--keys {} is too large for {}: give fewer than 2^32.", n, name_of(key)));
      }
      for (const auto shape : o.distributions) {
        if (n > most_keys(shape, key)) {
          throw cli::bad_arguments(
              fmt::format("--keys {} is too large for {} keys of distribution {}: give at most {}.", n, name_of(key),
                          name_of(shape), most_keys(shape, key)));
        }
      }
    }
  }
  if (o.keep && o.keep != aggregates::all) {
    for (const auto op : o.operations) {
      const aggregates needed = needed_by(op);
      if (needed != aggregates::none && needed != *o.keep) {
        throw cli::bad_arguments(fmt::format("--ops {} needs --aggregates {}, or leave --aggregates out.", name_of(op),
                                             name_in(aggregates_names, needed)));
      }
    }
  }
}

void parse_scalars(const raw_options& raw, options& o) {
  if (!parse_whole(raw.hit_rate, o.hit_rate) || !(o.hit_rate >= 0 && o.hit_rate <= 1)) {
    throw cli::bad_arguments(fmt::format("--hit-rate is '{}': give a number from 0 to 1.", raw.hit_rate));
  }
  if (!raw.repeat.empty()) {
    const std::uint64_t repeat = parse_number("repeat", raw.repeat);
    if (repeat == 0 || repeat > 1000) {
      throw cli::bad_arguments(fmt::format("--repeat is '{}': give a number from 1 to 1000.", raw.repeat));
    }
    o.repeat = o.write_repeat = static_cast<unsigned>(repeat);
  }
  o.seed = parse_number("seed", raw.seed);
  for (const auto t : o.threads) {
    if (t > 4096) throw cli::bad_arguments(fmt::format("--threads is '{}': give at most 4096, or 0 for all cores.", t));
  }
}

}  // namespace

std::vector<std::string> split_list(std::string_view what, const std::string& text) {
  std::vector<std::string> words;
  std::size_t at = 0;
  while (at <= text.size()) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    words.push_back(text.substr(at, end - at));
    if (words.back().empty()) throw cli::bad_arguments(fmt::format("--{} has an empty entry in '{}'.", what, text));
    at = end + 1;
  }
  return words;
}

std::uint64_t parse_number(std::string_view what, std::string_view text) {
  std::uint64_t value = 0;
  if (parse_whole(text, value)) return value;
  unsigned exponent = 0;
  if (text.starts_with("2^") && parse_whole(text.substr(2), exponent) && exponent < 64) {
    return std::uint64_t{1} << exponent;
  }
  double real = 0;
  if (text.find_first_of("eE") != std::string_view::npos && parse_whole(text, real) && real >= 0 && real < 0x1p64 &&
      real == std::floor(real)) {
    return static_cast<std::uint64_t>(real);
  }
  throw cli::bad_arguments(
      fmt::format("--{} is '{}': give a whole number such as 1000000, 1e6 or 2^20, below 2^64.", what, text));
}

const char* default_operations(index_kind index) {
  switch (index) {
    case index_kind::blink:
      return "build,insert,find,find-after-insert,update,erase,range,mixed";
    case index_kind::radix:
      return "build,find,contains,lower-bound,range,count-prefix,prefix,successor,insert,update,erase";
    case index_kind::hybrid:
      return "build,find,lower-bound,range,update,insert,erase";
    default:
      return "build,find,lower-bound,range,count,sum,visit";
  }
}

options parse_options(const raw_options& raw) {
  options o;
  o.index = parse_name("index", index_names, raw.index);
  if (o.index == index_kind::blink) o.blink = parse_blink(raw);
  if (o.index == index_kind::hybrid) o.hybrid = parse_hybrid(raw);
  o.long_keys_named = !raw.long_keys.empty();
  if (o.long_keys_named) o.long_keys = parse_names("long-keys", long_key_names, raw.long_keys);
  if (o.index == index_kind::radix) o.radix = parse_radix(raw);
  o.dev = parse_device(raw.device);
  o.keys = parse_numbers("keys", raw.keys);
  o.queries = raw.queries.empty() ? std::vector{as_suits_the_keys} : parse_queries(raw.queries);
  if (!raw.value_type.empty()) {
    o.value_type = parse_name("value-type", value_type_names, raw.value_type);
    require_built("value-type", value_type_names, *o.value_type);
  }
  if (o.index != index_kind::radix) {
    o.key_types = parse_names("key-type", key_type_names, raw.key_type.empty() ? "u32" : raw.key_type);
    for (const auto key : o.key_types) require_built("key-type", key_type_names, key);
    o.distributions = parse_names("distribution", distribution_names, raw.distribution);
  }
  const char* const matrix = o.blink.batch_distributions.empty() ? nullptr : "insert,erase";
  o.operations = parse_names("ops", operation_names,
                             !raw.ops.empty()    ? raw.ops
                             : matrix != nullptr ? matrix
                                                 : default_operations(o.index));
  check_operations(o);
  if (raw.peers != "none") o.peers = split_list("peers", raw.peers.empty() ? default_peers(o.index) : raw.peers);
  o.peers_named = !raw.peers.empty();
  check_peers(o.peers);
  o.threads = parse_numbers("threads", raw.threads);
  if (!raw.range_length.empty()) o.range_length = parse_number("range-length", raw.range_length);
  if (o.range_length == 0u) throw cli::bad_arguments("--range-length is '0': a range has one element at least.");
  if (!raw.plan.empty()) o.how = parse_name("plan", plan_names, raw.plan);
  if (o.index == index_kind::blink && o.how != query_plan::automatic && o.how != query_plan::scattered &&
      o.how != query_plan::partition_first) {
    throw cli::bad_arguments(
        fmt::format("--plan {} is not of `espalier bench blink`: choose from automatic, scattered, "
                    "partition_first.",
                    raw.plan));
  }
  if (!raw.node_search.empty()) o.search = parse_name("node-search", node_search_names, raw.node_search);
  if (!raw.aggregates.empty()) o.keep = parse_name("aggregates", aggregates_names, raw.aggregates);
  o.force_peers = raw.force_peers;
  parse_scalars(raw, o);
  if (o.index == index_kind::radix) o.byte_data_sets = parse_byte_data(raw, o.seed);
  check_byte_data(o);
  check_sizes(o);
  check_matrix(o);
  return o;
}

std::string rate_text(double per_second) {
  if (per_second >= 1e9) return fmt::format("{:.2f} G/s", per_second / 1e9);
  if (per_second >= 1e6) return fmt::format("{:.2f} M/s", per_second / 1e6);
  if (per_second >= 1e3) return fmt::format("{:.2f} k/s", per_second / 1e3);
  return fmt::format("{:.2f} /s", per_second);
}

std::string size_text(std::uint64_t n) {
  if (n >= 1024 && std::has_single_bit(n)) return fmt::format("2^{}", std::bit_width(n) - 1);
  return std::to_string(n);
}

std::string seconds_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} us", seconds * 1e6);
}

std::string ratio_text(double ratio) { return fmt::format("{:.{}f}x", ratio, ratio >= 100 ? 0 : ratio >= 10 ? 1 : 2); }

}  // namespace espalier::bench
