// cli_names.hpp - the words of the command line and of result files: operations, distributions, scalar types.
//
// Parsing, printing and help texts use one table per kind of word, so that they cannot disagree.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/errors.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/hybrid_tree/options.hpp"
#include "espalier/radix_tree/options.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier::bench {

enum class index_kind : std::uint8_t { static_tree, blink, radix, hybrid };
/// The host memory of a caller's queries and results, for a GPU.
enum class host_memory_kind : std::uint8_t { pinned, ordinary };

enum class operation : std::uint8_t {
  build,
  find,
  find_sorted,
  contains,
  lower_bound,
  range,
  count,
  sum,
  min,
  max,
  avg,
  visit,
  count_prefix,
  range_rows,
  prefix,
  successor,
  predecessor,
  snapshot,
  insert,
  insert_empty,
  insert_bulk,
  insert_by_ref,
  find_after_insert,
  update,
  erase,
  erase_bulk,
  mixed,
  ycsb_a,
  ycsb_b,
  ycsb_c,
  ycsb_d,
  ycsb_e,
  ycsb_f
};

enum class distribution : std::uint8_t {
  uniform,
  ascending,
  descending,
  almost_sorted,
  shuffled,
  gaussian,
  normal,
  gamma,
  zipf,
  clustered,
  adversarial,
  mesh
};

/// The distribution of the keys of a batch relative to those of the tree they are written to (batch_layout.hpp).
enum class batch_distribution : std::uint8_t {
  append_sorted,
  append_shuffled,
  cluster,
  clusters_1024,
  zipf,
  ascending,
  descending,
  random
};

/// The order in which keys of an index are requested. normal and gamma select by rank, with the distribution of that
/// name over the key range; zipf requests a few random keys most often.
enum class request_order : std::uint8_t { uniform, zipf, in_order, normal, gamma };

/// The location of a caller's queries and results; host memory means that a GPU is measured end to end.
enum class location : std::uint8_t { device, host };

/// How the inner levels of a bucket are divided between host and device: as measured, or entirely on the device.
enum class balancing : std::uint8_t { tuned, none };

/// `none` is the value type of a set.
inline constexpr scalar_kind no_value = scalar_kind::opaque;

template <class Enum>
struct named {
  std::string_view name;
  Enum value;
};

inline constexpr std::array index_names{
    named<index_kind>{"static", index_kind::static_tree},
    named<index_kind>{"blink", index_kind::blink},
    named<index_kind>{"radix", index_kind::radix},
    named<index_kind>{"hybrid", index_kind::hybrid},
};
inline constexpr std::array long_key_names{
    named<long_key_mode>{"on-device", long_key_mode::on_device},
    named<long_key_mode>{"in-host-memory", long_key_mode::in_host_memory},
    named<long_key_mode>{"host-replica", long_key_mode::host_replica},
};
inline constexpr std::array operation_names{
    named<operation>{"build", operation::build},
    named<operation>{"find", operation::find},
    named<operation>{"find-sorted", operation::find_sorted},
    named<operation>{"contains", operation::contains},
    named<operation>{"lower-bound", operation::lower_bound},
    named<operation>{"range", operation::range},
    named<operation>{"count", operation::count},
    named<operation>{"sum", operation::sum},
    named<operation>{"min", operation::min},
    named<operation>{"max", operation::max},
    named<operation>{"avg", operation::avg},
    named<operation>{"visit", operation::visit},
    named<operation>{"count-prefix", operation::count_prefix},
    named<operation>{"range-rows", operation::range_rows},
    named<operation>{"prefix", operation::prefix},
    named<operation>{"successor", operation::successor},
    named<operation>{"predecessor", operation::predecessor},
    named<operation>{"snapshot", operation::snapshot},
    named<operation>{"insert", operation::insert},
    named<operation>{"insert-empty", operation::insert_empty},
    named<operation>{"insert-bulk", operation::insert_bulk},
    named<operation>{"insert-by-ref", operation::insert_by_ref},
    named<operation>{"find-after-insert", operation::find_after_insert},
    named<operation>{"update", operation::update},
    named<operation>{"erase", operation::erase},
    named<operation>{"erase-bulk", operation::erase_bulk},
    named<operation>{"mixed", operation::mixed},
    named<operation>{"ycsb-a", operation::ycsb_a},
    named<operation>{"ycsb-b", operation::ycsb_b},
    named<operation>{"ycsb-c", operation::ycsb_c},
    named<operation>{"ycsb-d", operation::ycsb_d},
    named<operation>{"ycsb-e", operation::ycsb_e},
    named<operation>{"ycsb-f", operation::ycsb_f},
};
inline constexpr std::array distribution_names{
    named<distribution>{"uniform", distribution::uniform},
    named<distribution>{"ascending", distribution::ascending},
    named<distribution>{"descending", distribution::descending},
    named<distribution>{"almost-sorted", distribution::almost_sorted},
    named<distribution>{"shuffled", distribution::shuffled},
    named<distribution>{"gaussian", distribution::gaussian},
    named<distribution>{"normal", distribution::normal},
    named<distribution>{"gamma", distribution::gamma},
    named<distribution>{"zipf", distribution::zipf},
    named<distribution>{"clustered", distribution::clustered},
    named<distribution>{"adversarial", distribution::adversarial},
    named<distribution>{"mesh", distribution::mesh},
};
inline constexpr std::array batch_distribution_names{
    named<batch_distribution>{"append-sorted", batch_distribution::append_sorted},
    named<batch_distribution>{"append-shuffled", batch_distribution::append_shuffled},
    named<batch_distribution>{"cluster", batch_distribution::cluster},
    named<batch_distribution>{"clusters-1024", batch_distribution::clusters_1024},
    named<batch_distribution>{"zipf", batch_distribution::zipf},
    named<batch_distribution>{"ascending", batch_distribution::ascending},
    named<batch_distribution>{"descending", batch_distribution::descending},
    named<batch_distribution>{"random", batch_distribution::random},
};
inline constexpr std::array key_type_names{
    named<scalar_kind>{"u32", scalar_kind::u32}, named<scalar_kind>{"i32", scalar_kind::i32},
    named<scalar_kind>{"u64", scalar_kind::u64}, named<scalar_kind>{"i64", scalar_kind::i64},
    named<scalar_kind>{"f32", scalar_kind::f32}, named<scalar_kind>{"f64", scalar_kind::f64},
};
inline constexpr std::array value_type_names{
    named<scalar_kind>{"none", no_value},        named<scalar_kind>{"u32", scalar_kind::u32},
    named<scalar_kind>{"u64", scalar_kind::u64}, named<scalar_kind>{"f32", scalar_kind::f32},
    named<scalar_kind>{"f64", scalar_kind::f64}, named<scalar_kind>{"i32", scalar_kind::i32},
    named<scalar_kind>{"i64", scalar_kind::i64},
};
inline constexpr std::array plan_names{
    named<query_plan>{"automatic", query_plan::automatic},
    named<query_plan>{"small", query_plan::small},
    named<query_plan>{"scattered", query_plan::scattered},
    named<query_plan>{"ordered", query_plan::ordered},
    named<query_plan>{"sort_first", query_plan::sort_first},
    named<query_plan>{"partition_first", query_plan::partition_first},
};
inline constexpr std::array aggregates_names{
    named<aggregates>{"none", aggregates::none},
    named<aggregates>{"sum", aggregates::sum},
    named<aggregates>{"min_max", aggregates::min_max},
    named<aggregates>{"all", aggregates::all},
};
inline constexpr std::array node_search_names{
    named<node_search>{"linear", node_search::linear},
    named<node_search>{"hierarchical", node_search::hierarchical},
    named<node_search>{"sequential", node_search::sequential},
};
inline constexpr std::array protocol_names{
    named<protocol>{"link", protocol::blink},
    named<protocol>{"couple", protocol::latch_coupling},
    named<protocol>{"none", protocol::single_writer},
};
inline constexpr std::array upper_names{
    named<inner_index>{"express", inner_index::express_lane},
    named<inner_index>{"classic", inner_index::inner_nodes},
};
inline constexpr std::array path_names{
    named<write_path>{"automatic", write_path::automatic},
    named<write_path>{"per-key", write_path::per_key},
    named<write_path>{"bulk", write_path::bulk},
};
inline constexpr std::array radix_path_names{
    named<radix_path>{"automatic", radix_path::automatic},
    named<radix_path>{"in-place", radix_path::in_place},
    named<radix_path>{"rebuild", radix_path::rebuild},
};
inline constexpr std::array layout_names{
    named<hybrid_layout>{"implicit", hybrid_layout::implicit},
    named<hybrid_layout>{"regular", hybrid_layout::regular},
};
inline constexpr std::array placement_names{
    named<hybrid_placement>{"automatic", hybrid_placement::automatic},
    named<hybrid_placement>{"host-alone", hybrid_placement::host_alone},
    named<hybrid_placement>{"shared", hybrid_placement::shared},
    named<hybrid_placement>{"device-alone", hybrid_placement::device_alone},
    named<hybrid_placement>{"both", hybrid_placement::both},
};
inline constexpr std::array host_memory_names{
    named<host_memory_kind>{"pinned", host_memory_kind::pinned},
    named<host_memory_kind>{"ordinary", host_memory_kind::ordinary},
};
inline constexpr std::array queue_depth_names{
    named<unsigned>{"sequential", 0},
    named<unsigned>{"pipelined", 1},
    named<unsigned>{"double-buffered", 2},
};
inline constexpr std::array pages_names{
    named<page_configuration>{"huge", page_configuration::huge},
    named<page_configuration>{"huge-inner", page_configuration::huge_inner},
    named<page_configuration>{"small", page_configuration::small},
};
inline constexpr std::array update_way_names{
    named<update_mode>{"automatic", update_mode::automatic},
    named<update_mode>{"asynchronous", update_mode::asynchronous},
    named<update_mode>{"synchronised", update_mode::synchronised},
};
inline constexpr std::array balancing_names{
    named<balancing>{"tuned", balancing::tuned},
    named<balancing>{"none", balancing::none},
};
inline constexpr std::array location_names{
    named<location>{"device", location::device},
    named<location>{"host", location::host},
};
inline constexpr std::array request_names{
    named<request_order>{"uniform", request_order::uniform},   named<request_order>{"zipf", request_order::zipf},
    named<request_order>{"in-order", request_order::in_order}, named<request_order>{"normal", request_order::normal},
    named<request_order>{"gamma", request_order::gamma},
};

template <class Table>
[[nodiscard]] constexpr auto from_name(const Table& table, std::string_view name) {
  std::optional<decltype(table[0].value)> found;
  for (const auto& entry : table) {
    if (entry.name == name) found = entry.value;
  }
  return found;
}

template <class Table, class Enum>
[[nodiscard]] constexpr std::string_view name_in(const Table& table, Enum value) {
  for (const auto& entry : table) {
    if (entry.value == value) return entry.name;
  }
  return "?";
}

/// Returns the choices as "a, b, c", for help texts and error messages.
template <class Table>
[[nodiscard]] std::string choices(const Table& table) {
  std::string text;
  for (const auto& entry : table) text += (text.empty() ? "" : ", ") + std::string(entry.name);
  return text;
}

[[nodiscard]] constexpr std::string_view name_of(operation op) { return name_in(operation_names, op); }
[[nodiscard]] constexpr std::string_view name_of(distribution d) { return name_in(distribution_names, d); }
[[nodiscard]] constexpr std::string_view name_of(batch_distribution d) { return name_in(batch_distribution_names, d); }
[[nodiscard]] constexpr std::string_view name_of(scalar_kind k) { return name_in(value_type_names, k); }

/// Operations whose queries are pairs (lo, hi).
[[nodiscard]] constexpr bool takes_ranges(operation op) {
  return op == operation::range || op == operation::range_rows || op == operation::count || op == operation::sum ||
         op == operation::min || op == operation::max || op == operation::avg;
}
/// Operations that aggregate over ranges.
[[nodiscard]] constexpr bool adds_up(operation op) { return op == operation::sum || op == operation::avg; }
/// Operations that return the elements of ranges.
[[nodiscard]] constexpr bool lists_ranges(operation op) {
  return op == operation::range || op == operation::range_rows;
}
/// Operations without queries, whose rate counts keys.
[[nodiscard]] constexpr bool takes_no_queries(operation op) {
  return op == operation::build || op == operation::visit || op == operation::snapshot;
}
[[nodiscard]] constexpr bool is_ycsb(operation op) { return op >= operation::ycsb_a && op <= operation::ycsb_f; }
/// Operations that change the index, which is restored before each run.
[[nodiscard]] constexpr bool writes(operation op) {
  return op >= operation::insert && op != operation::find_after_insert;
}
/// Writes of one kind, whose size is --batch.
[[nodiscard]] constexpr bool takes_batch(operation op) {
  return writes(op) && op != operation::insert_empty && op != operation::mixed && !is_ycsb(op);
}
/// Operations for which --path is an axis. Batches of mixed operations are executed key by key.
[[nodiscard]] constexpr bool chooses_path(operation op) {
  return op == operation::insert || op == operation::insert_empty || op == operation::find_after_insert ||
         op == operation::update || op == operation::erase || op == operation::ycsb_e;
}
/// Batches of mixed operations.
[[nodiscard]] constexpr bool mixes(operation op) { return op == operation::mixed || is_ycsb(op); }
[[nodiscard]] constexpr bool updates(operation op) {
  return op == operation::update || op == operation::ycsb_a || op == operation::ycsb_b || op == operation::ycsb_f;
}
/// Operations of the radix tree whose results are elements, keys and values.
[[nodiscard]] constexpr bool lists_strings(operation op) {
  return op == operation::range || op == operation::prefix || op == operation::successor;
}
/// Queries for the element at or next to a key.
[[nodiscard]] constexpr bool asks_neighbours(operation op) {
  return op == operation::lower_bound || op == operation::successor || op == operation::predecessor;
}
/// Queries for single keys, which a radix tree can answer in batches.
[[nodiscard]] constexpr bool asks_points(operation op) { return op == operation::find || op == operation::contains; }
[[nodiscard]] constexpr bool serves(index_kind index, operation op) {
  if (index == index_kind::static_tree) return op <= operation::visit;
  if (index == index_kind::radix) {
    return op == operation::build || op == operation::find || op == operation::contains ||
           op == operation::lower_bound || op == operation::count_prefix || lists_strings(op) ||
           op == operation::insert || op == operation::update || op == operation::erase;
  }
  if (index == index_kind::hybrid) {
    return op == operation::build || op == operation::find || op == operation::contains || asks_neighbours(op) ||
           (takes_ranges(op) && op != operation::avg) || op == operation::insert || op == operation::update ||
           op == operation::erase;
  }
  return op >= operation::successor || op == operation::build || op == operation::find || op == operation::contains ||
         op == operation::lower_bound || takes_ranges(op) || op == operation::visit;
}
/// Operations of the hybrid tree that are executed in buckets; the way of doing so is an axis.
[[nodiscard]] constexpr bool travels(operation op) {
  return op == operation::find || op == operation::contains || op == operation::range_rows;
}
/// Returns the operations of one index, for help texts and error messages.
[[nodiscard]] inline std::string operations_of(index_kind index) {
  std::string text;
  for (const auto& entry : operation_names) {
    if (serves(index, entry.value)) text += (text.empty() ? "" : ", ") + std::string(entry.name);
  }
  return text;
}

/// Returns the aggregates that an index must keep for an operation.
[[nodiscard]] constexpr aggregates needed_by(operation op) {
  if (adds_up(op)) return aggregates::sum;
  return op == operation::min || op == operation::max ? aggregates::min_max : aggregates::none;
}

/// Calls f.template operator()<T>() with the type of this kind, for columns of any type.
template <class F>
decltype(auto) with_type(scalar_kind kind, F&& f) {
  switch (kind) {
    case scalar_kind::i32:
      return f.template operator()<std::int32_t>();
    case scalar_kind::f32:
      return f.template operator()<float>();
    case scalar_kind::u64:
      return f.template operator()<std::uint64_t>();
    case scalar_kind::i64:
      return f.template operator()<std::int64_t>();
    case scalar_kind::f64:
      return f.template operator()<double>();
    default:
      return f.template operator()<std::uint32_t>();
  }
}

#ifdef ESPALIER_BENCH_ALL_TYPES
inline constexpr bool all_types_are_built = true;
#else
inline constexpr bool all_types_are_built = false;
#endif

/// Returns whether indexes and peers with keys or values of this type are compiled in.
[[nodiscard]] constexpr bool is_built(scalar_kind kind) {
  return all_types_are_built || kind == scalar_kind::u32 || kind == scalar_kind::u64 || kind == no_value;
}
/// Returns the types of a table of names that are compiled in, in the format of choices().
template <class Table>
[[nodiscard]] std::string built_choices(const Table& table) {
  std::string text;
  for (const auto& entry : table) {
    if (is_built(entry.value)) text += (text.empty() ? "" : ", ") + std::string(entry.name);
  }
  return text;
}

/// with_type() for keys and values of indexes and peers; parse_options() has refused types that are not compiled in.
template <class F>
decltype(auto) with_built_type(scalar_kind kind, F&& f) {
  if constexpr (all_types_are_built) {
    return with_type(kind, std::forward<F>(f));
  } else {
    if (!is_built(kind)) throw cli::bad_arguments("Keys and values of this type are not built into this program.");
    if (kind == scalar_kind::u64) return f.template operator()<std::uint64_t>();
    return f.template operator()<std::uint32_t>();
  }
}

}  // namespace espalier::bench
