// plan.cpp - the cost model of writes. The GPU's rates fit batches of 2^8 to 2^24 u64 pairs into 2^26 keys on an H200
// (bench/results/gpu-blink-distributions-2.json, random), the CPU's rates batches of 2^14 to 2^20 u64 pairs into 2^20
// to 2^26 keys on two Neoverse cores (docs/design/blink-tree.md); the rate of a single writer on a GPU is a guess.
#include "blink_tree/plan.hpp"

#include <algorithm>
#include <cstdio>

namespace espalier {

std::string to_string(protocol p) {
  switch (p) {
    case protocol::blink:
      return "link";
    case protocol::latch_coupling:
      return "couple";
    default:
      return "none";
  }
}
std::string to_string(inner_index u) { return u == inner_index::express_lane ? "express" : "classic"; }
std::string to_string(write_path p) {
  switch (p) {
    case write_path::per_key:
      return "per_key";
    case write_path::bulk:
      return "bulk";
    default:
      return "automatic";
  }
}

namespace detail {

write_explanation plan_write(const write_question& q, const write_options& options) {
  write_explanation e;
  const auto n = static_cast<double>(q.n);
  // A GPU merges with steps over all leaves, whatever the batch, except for updates; a CPU reads the touched leaves,
  // but rewrites the list of all leaves if one was split. Key by key, only the size of the batch counts.
  const double leaf_bytes = static_cast<double>(q.leaf_slots) * static_cast<double>(q.node_bytes) / 12;
  if (q.on_gpu) {
    // Keys of the same leaf wait for each other; if that takes longer, the elements that the first pass refused are
    // merged.
    const double meet = (n - 1) / static_cast<double>(std::max<std::size_t>(q.leaves, 1));
    const bool inserts = q.op == write_op::insert || q.op == write_op::insert_or_assign;
    const double wait = inserts ? 180e-6 : 5e-6 + n * 0.45e-9;
    e.per_key_seconds = 45e-6 + n / (q.one_writer ? 1e6 : inserts ? 2.2e9 : 3.5e9) + meet * wait;
    e.bulk_seconds = 180e-6 + n / 5e9 + (q.op == write_op::update ? 0 : leaf_bytes / 5e12);
  } else {
    const double threads = q.one_writer ? 1 : q.threads;
    e.per_key_seconds = n * (q.op == write_op::update ? 100e-9 : 130e-9) / threads;
    const double merge = q.op == write_op::update  ? n * 140e-9
                         : q.op == write_op::erase ? n * 100e-9 + leaf_bytes / 200e9
                                                   : n * 120e-9 + leaf_bytes / 60e9;
    e.bulk_seconds = merge / q.threads + 200e-6;
  }
  e.chosen = options.path != write_path::automatic ? options.path
             : e.bulk_seconds < e.per_key_seconds  ? write_path::bulk
                                                   : write_path::per_key;
  char text[200];
  std::snprintf(text, sizeof(text), "%s: key by key about %.3g s, sorted and merged about %.3g s%s",
                to_string(e.chosen).c_str(), e.per_key_seconds, e.bulk_seconds,
                options.path != write_path::automatic ? " (path chosen by the caller)" : "");
  e.text = text;
  return e;
}

// On a GPU thousands of teams that access one key wait for each other, which costs more than sorting the batch; a CPU
// has few threads. Below some thousand elements the launches cost more than either.
write_explanation plan_mixed(std::size_t n, bool mixed, const write_options& options, bool on_gpu, bool has_live_refs) {
  const bool ordered = options.semantics == batch_semantics::ordered;
  const bool asked = options.path != write_path::automatic;
  const bool wish = asked ? options.path == write_path::bulk : ordered || (on_gpu && mixed && n >= 4096);
  write_explanation e;
  e.chosen = wish && !has_live_refs ? write_path::bulk : write_path::per_key;
  e.text = e.chosen == write_path::bulk ? "bulk: sorted, equal keys taken together"
           : wish                       ? "per_key: element by element, since a ref is in use"
                                        : "per_key: element by element";
  if (asked && wish == (e.chosen == write_path::bulk)) e.text += " (path chosen by the caller)";
  return e;
}

// GPU: from 2^25 keys on, in batches that make up for some 40 us of launches; smaller trees were not measured.
// CPU: leaves beyond the private cache of a core, and several queries for each of them, which share its lines.
bool partitions_finds(std::size_t n, std::size_t leaf_bytes, const query_options& options, bool on_gpu) {
  if (options.plan != query_plan::automatic) return options.plan == query_plan::partition_first;
  if (options.order == batch_order::ascending) return false;
  if (on_gpu) return n >= (std::size_t{1} << 22) && leaf_bytes >= 400'000'000;
  return n >= (std::size_t{1} << 17) && leaf_bytes >= (std::size_t{1} << 22) && n >= leaf_bytes / 512;
}

namespace {

// Seconds on an H200, fitted to gpu-blink-distributions (docs/design/blink-tree.md).

/// Time to sort and merge; the steps process all leaves of the span.
double merge_seconds(std::size_t n, std::size_t span, std::size_t node_bytes) {
  return 160e-6 + static_cast<double>(n) / 5e9 + static_cast<double>(span) * static_cast<double>(node_bytes) / 4e12;
}
/// Time of a second pass key by key, with splits: elements of the same leaf wait for each other.
double second_pass_seconds(std::size_t n, double queue) {
  return 20e-6 + queue * (6e-6 + static_cast<double>(n) * 0.45e-9);
}
double upper_levels_seconds(const leaf_sizes& tree) {
  return 100e-6 + static_cast<double>(tree.leaves) * static_cast<double>(tree.node_bytes) / 21e12;
}

}  // namespace

float merges_dense_from() { return 16.0f; }

bool merges_first(const batch_spread& spread, std::size_t n, const leaf_sizes& tree) {
  // Most of the elements left after a first pass are close together.
  const double rest = std::min(second_pass_seconds(n, static_cast<double>(spread.queue)), 130e-6);
  return merge_seconds(n, spread.span, tree.node_bytes) <
         upper_levels_seconds(tree) + 45e-6 + static_cast<double>(n) / 2.2e9 + rest;
}

bool merges_refused(std::size_t refused, std::size_t leaves) { return refused * 16 >= leaves; }

batch_spread even_spread(std::size_t n, const leaf_sizes& tree) {
  const std::size_t leaves = std::max<std::size_t>(tree.leaves, 1);
  return {1.0f + static_cast<float>(n) / static_cast<float>(leaves), static_cast<std::uint32_t>(leaves)};
}

// Of keys that are spread over the tree, a seventh finds a full leaf. A sample takes about 20 us.
bool may_have_met(std::size_t refused, std::size_t n) { return refused >= 64 && refused * 4 >= n; }

bool merges_rest(const batch_spread& spread, std::size_t refused, const leaf_sizes& tree) {
  return merge_seconds(refused, spread.span, tree.node_bytes) <
         second_pass_seconds(refused, static_cast<double>(spread.queue));
}

}  // namespace detail
}  // namespace espalier
