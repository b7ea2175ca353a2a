// options.hpp - options that bulk calls of all trees share, and what trees report of themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace espalier {

/// Which ends of a range belong to it.
enum class interval : std::uint8_t { closed, right_open, left_open, open };  // [a,b] [a,b) (a,b] (a,b)

/// Which aggregates are precomputed so that aggregates over a range cost O(log n). `count` needs nothing.
enum class aggregates : std::uint8_t { none = 0, sum = 1, min_max = 2, all = 3 };

/// The order in which elements are visited.
enum class visit_order : std::uint8_t { any, by_key };

/// How a batch of queries is answered. All plans return the same results; `automatic` chooses by measured cost.
enum class query_plan : std::uint8_t {
  automatic,
  small,       ///< few queries: in the calling thread on a CPU, one launch on a GPU
  scattered,   ///< many unordered queries: interleaved descents on all threads
  ordered,     ///< ascending queries: each search starts where its neighbour ended
  sort_first,  ///< many unordered queries over an index far larger than the caches: sort, answer, scatter the results
  partition_first,  ///< many unordered queries: grouped by parts of the index, answered part by part
};

/// What the caller knows about the order of a batch.
enum class batch_order : std::uint8_t { unknown, ascending, random };

/// How a CPU searches the slots of a node (paper 003): compare all slots with vectors; compare the boundary slots first
/// and then one part; or compare slot by slot without explicit vector instructions, as the baseline.
enum class node_search : std::uint8_t { linear, hierarchical, sequential };

struct query_options {
  batch_order order = batch_order::unknown;  ///< a promise of `ascending` affects only speed, never results
  query_plan plan = query_plan::automatic;
  node_search search = node_search::linear;  ///< CPU only; results are the same
};

struct range_options {
  interval ends = interval::closed;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  ///< at most this many elements per query
};

/// The effect of a write on a key.
enum class write_op : std::uint8_t {
  insert,            ///< only if the key is not present
  insert_or_assign,  ///< in any case
  update,            ///< only if the key is present
  erase,
};

/// The plan for a batch, with the alternatives that were considered.
struct explanation {
  struct candidate {
    query_plan plan;
    double seconds;  ///< predicted
  };
  query_plan chosen = query_plan::automatic;
  std::vector<candidate> candidates;
  std::string text;  ///< a few lines of readable text
};

/// Result of checking every invariant of the structure.
struct validation {
  bool ok = true;
  std::string problem;  ///< the first broken invariant, empty if ok
  explicit operator bool() const noexcept { return ok; }
};

[[nodiscard]] std::string to_string(query_plan p);
[[nodiscard]] std::string to_string(interval i);
[[nodiscard]] std::string to_string(aggregates a);

}  // namespace espalier
