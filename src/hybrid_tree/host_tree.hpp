// host_tree.hpp - the part of a hybrid tree in host memory: all of it, searched by the CPU from any level on.
//
// There are two layouts: a static tree, or a B-link tree with an express lane. Both have the same kind of inner levels
// (table, group headers), which give a line number; a search continues from there. An older copy of the inner levels of
// a B-link tree may name leaves that were split since: right links lead on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "espalier/blink_tree/options.hpp"
#include "espalier/hybrid_tree/options.hpp"
#include "espalier/index/untyped_reads.hpp"
#include "hybrid_tree/inner_levels.hpp"

namespace espalier::detail {

/// The effect of a write on the inner levels, of which the device has a copy.
struct inner_update {
  update_mode way = update_mode::automatic;  ///< automatic if everything was rebuilt
  bool inner_changed = true;                 ///< upper() has different inner levels than before
  std::unique_ptr<inner_levels> before;      ///< a copy of the previous ones, if a search for differences is worthwhile
  std::string reason;
};

class host_tree {
 public:
  virtual ~host_tree() = default;

  /// Queries that both layouts answer alike. Valid until the next write.
  [[nodiscard]] virtual const untyped_reads& reads() const = 0;

  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  /// Its pointers are valid until the next write.
  [[nodiscard]] virtual any_inner_levels_view upper() const = 0;

  /// The tree whose lines a device can read, or null. Valid until the next write.
  [[nodiscard]] virtual const static_index* lines() const { return nullptr; }

  /// As reads().find() and rows(); searches, those of rows for the lower ends, start at lines of upper().
  virtual void find_from(const std::uint32_t* lines, const void* keys, std::size_t n, void* values,
                         std::uint8_t* found) const = 0;
  virtual void rows_from(const std::uint32_t* lines, const void* lo, const void* hi, std::size_t n,
                         const range_options& options, void* out_keys, void* out_values,
                         std::uint64_t* counts) const = 0;
  /// Writes the number of elements with a smaller key or, with bound_type::upper, with a key that is not greater.
  virtual void rank(bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks) const = 0;
  /// As static_index::select.
  virtual void select(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values,
                      std::uint8_t* found) const = 0;
  /// Estimates the number of elements in a closed range.
  [[nodiscard]] virtual std::uint64_t estimate(const void* lo, const void* hi) const = 0;
  /// Strong exception guarantee, which includes upper(). Precondition: no concurrent reads.
  virtual inner_update write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
                             update_mode way) = 0;
};

/// Waits for a call on the host, in a separate stream, which has no thread: the call does not wait for other calls on
/// the host's stream.
[[nodiscard]] inline execution in_separate_stream(const device& host) { return {host.make_stream(), true}; }

[[nodiscard]] std::unique_ptr<host_tree> make_static_host_tree(const device& host, element_type elements,
                                                               aggregates keep, const void* keys, const void* values,
                                                               std::size_t n);
[[nodiscard]] std::unique_ptr<host_tree> make_blink_host_tree(const device& host, element_type elements, double fill,
                                                              const void* keys, const void* values, std::size_t n);

/// Keys per line of a static tree with these elements.
[[nodiscard]] unsigned keys_per_line(const element_type& e);
/// Host and device exchange 32-bit line numbers. Throws if n elements of the implicit layout need more lines.
void require_line_numbers(const element_type& e, std::uint64_t n);

/// How a batch is written to the regular layout (docs/design/hybrid-tree.md, "Updates"), and the reason. `by_cost` is
/// the host's cost of both methods (blink_index::explain); `inner_bytes` is what the asynchronous one sends in
/// addition.
struct way_choice {
  update_mode way = update_mode::automatic;
  std::string reason;
};
[[nodiscard]] way_choice choose_way(update_mode wish, const write_explanation& by_cost, std::size_t inner_bytes);

}  // namespace espalier::detail
