// options.hpp - what a caller may choose, and what the static tree tells about itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace espalier {

/// Which ends of a range belong to it.
enum class interval : std::uint8_t { closed, right_open, left_open, open };  // [a,b] [a,b) (a,b] (a,b)

/// What is kept beside the elements so that aggregates over a range cost O(log n). `count` needs nothing.
enum class aggregates : std::uint8_t { none = 0, sum = 1, min_max = 2, all = 3 };

/// In which sequence elements are visited.
enum class visit_order : std::uint8_t { any, by_key };

/// How a batch of queries is answered. All plans give the same answers; `automatic` picks by measured cost.
enum class query_plan : std::uint8_t {
  automatic,
  small,       ///< few queries: in the calling thread on a CPU, one launch on a GPU
  scattered,   ///< many queries in no order: interleaved descents on all threads
  ordered,     ///< queries ascend: each starts where its neighbour ended
  sort_first,  ///< many queries in no order over an index far larger than the caches: sort, answer, put back
};

/// What the caller knows about the order of a batch.
enum class batch_order : std::uint8_t { unknown, ascending, random };

/// How a CPU searches the slots of a node (paper 003): compare them all with vectors, boundary slots first and then one
/// part, or one after the other without vector instructions of our own, as the base line.
enum class node_search : std::uint8_t { linear, hierarchical, sequential };

struct build_options {
  bool sorted = false;  ///< promise: keys ascend. Checked; a broken promise is an `error`, never a wrong tree
  aggregates keep = aggregates::none;
};

struct query_options {
  batch_order order = batch_order::unknown;  ///< a promise of `ascending` only affects speed, never answers
  query_plan plan = query_plan::automatic;
  node_search search = node_search::linear;  ///< CPU only; answers are the same
};

struct range_options {
  interval ends = interval::closed;
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();  ///< at most this many elements per query
};

/// The plan for a batch and what it was chosen over.
struct explanation {
  struct candidate {
    query_plan plan;
    double seconds;  ///< predicted
  };
  query_plan chosen = query_plan::automatic;
  std::vector<candidate> candidates;
  std::string text;  ///< a few lines for people
};

struct tree_stats {
  std::size_t size = 0;        ///< elements
  unsigned height = 0;         ///< dependent memory accesses from a key to its element, before any halving (layout.hpp)
  std::size_t bytes = 0;       ///< all memory the index holds on its device
  std::size_t leaf_bytes = 0;  ///< lines: keys and values together
  std::size_t inner_bytes = 0;  ///< headers and tables
  std::size_t aggregate_bytes = 0;
  std::size_t groups = 0;
  unsigned table_levels = 0;  ///< 1 for smooth keys; more where keys crowd into few table cells
  double fill = 0;            ///< used slots / all slots
};

/// Outcome of checking every invariant of the structure.
struct validation {
  bool ok = true;
  std::string problem;  ///< the first broken invariant, empty if ok
  explicit operator bool() const noexcept { return ok; }
};

[[nodiscard]] std::string to_string(query_plan p);
[[nodiscard]] std::string to_string(interval i);
[[nodiscard]] std::string to_string(aggregates a);

}  // namespace espalier
