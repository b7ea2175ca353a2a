// host_tree.hpp - the part of a hybrid tree in host memory: all of it, searched by the CPU from any level on.
//
// There are two layouts: a static tree, or a B-link tree with an express lane. Both have the same kind of inner levels
// (table, group headers), which give a line number; a search continues from there. An older copy of the inner levels of
// a B-link tree may name leaves that were split since: right links lead on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/hybrid_tree/index.hpp"
#include "hybrid_tree/update.hpp"

namespace espalier::detail {

class host_tree {
 public:
  virtual ~host_tree() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  /// Its pointers are valid until the next write.
  [[nodiscard]] virtual any_inner_levels_view upper() const = 0;

  /// The tree whose lines a device can read, or null. Valid until the next write.
  [[nodiscard]] virtual const static_index* lines() const { return nullptr; }

  virtual void find(const void* keys, std::size_t n, void* values, std::uint8_t* found) const = 0;
  /// Searches start at lines of upper().
  virtual void find_from(const std::uint32_t* lines, const void* keys, std::size_t n, void* values,
                         std::uint8_t* found) const = 0;
  virtual void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values,
                    std::uint8_t* found, const query_options& options) const = 0;
  virtual void count(const void* lo, const void* hi, std::size_t n, const range_options& options,
                     std::uint64_t* counts) const = 0;
  /// Writes the number of elements with a smaller key or, with bound_type::upper, with a key that is not greater.
  virtual void rank(bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks) const = 0;
  /// As static_index::select.
  virtual void select(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values,
                      std::uint8_t* found) const = 0;
  /// Estimates the number of elements in a closed range.
  [[nodiscard]] virtual std::uint64_t estimate(const void* lo, const void* hi) const = 0;
  /// As static_index::rows.
  virtual void rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
                    void* out_values, std::uint64_t* counts) const = 0;
  /// Searches start at lines of upper() for the lower ends.
  virtual void rows_from(const std::uint32_t* lines, const void* lo, const void* hi, std::size_t n,
                         const range_options& options, void* out_keys, void* out_values,
                         std::uint64_t* counts) const = 0;
  [[nodiscard]] virtual range_buffers range(const void* lo, const void* hi, std::size_t n,
                                            const range_options& options) const = 0;
  virtual void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                         std::uint8_t* found) const = 0;
  /// Strong exception guarantee, which includes upper(). Precondition: no concurrent reads.
  virtual inner_update write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
                             update_mode way) = 0;
};

[[nodiscard]] std::unique_ptr<host_tree> make_static_host_tree(const device& host, element_type elements,
                                                               aggregates keep, const void* keys, const void* values,
                                                               std::size_t n);
[[nodiscard]] std::unique_ptr<host_tree> make_blink_host_tree(const device& host, element_type elements, double fill,
                                                              const void* keys, const void* values, std::size_t n);

}  // namespace espalier::detail
