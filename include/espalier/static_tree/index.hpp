// index.hpp - the type-erased static tree that the typed owner (static_tree.hpp) calls.
//
// One static_index is compiled per word size (4, 8) x value slot (0, 4, 8, 16 bytes) x backend; key and value types are
// runtime values (scalar_kind). User programs therefore link in a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "espalier/device/device.hpp"
#include "espalier/index/elements.hpp"
#include "espalier/index/seek.hpp"
#include "espalier/index/untyped_reads.hpp"
#include "espalier/static_tree/inner_levels_view.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier::detail {

/// Number of ranks of one piece of a visit on a CPU.
inline constexpr std::uint64_t visit_piece = 1 << 16;

/// Pointers may refer to host or device memory; null outputs are skipped.
class static_index : public untyped_reads {
 public:
  [[nodiscard]] virtual tree_stats stats() const = 0;
  [[nodiscard]] virtual aggregates kept() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  [[nodiscard]] virtual explanation explain(std::size_t queries, const query_options& options) const = 0;
  /// Address of the trivially copyable tree_view<Word, ValueSlot> that refs are made from.
  [[nodiscard]] virtual const void* view() const = 0;

  [[nodiscard]] virtual any_inner_levels_view upper() const = 0;

  /// CPU only: the searches start at these lines (find_line_job). All pointers refer to host memory.
  virtual void find_from(const std::uint32_t* lines, const void* keys, std::size_t n, void* values,
                         std::uint8_t* found) const = 0;
  virtual void rank(bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks,
                    const query_options& options, const execution& ex) const = 0;
  virtual void select(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values, std::uint8_t* found,
                      const execution& ex) const = 0;
  /// offsets has n + 1 elements: the exclusive prefix sums of count().
  virtual void range_offsets(const void* lo, const void* hi, std::size_t n, const range_options& options,
                             std::uint64_t* offsets, const execution& ex) const = 0;
  /// Writes offsets[n] elements, or the first `total` of them if that is less.
  virtual void range_fill(const void* lo, std::size_t n, const range_options& options, const std::uint64_t* offsets,
                          std::uint64_t total, void* out_keys, void* out_values, const execution& ex) const = 0;
  /// CPU only, as find_from; `lines` belong to the lower ends.
  virtual void rows_from(const std::uint32_t* lines, const void* lo, const void* hi, std::size_t n,
                         const range_options& options, void* out_keys, void* out_values,
                         std::uint64_t* counts) const = 0;
  /// CPU only: calls piece(first, last, number) for contiguous pieces of ranks [first, last), numbered in key order.
  /// With visit_order::any the pieces have visit_piece ranks each and all threads make calls; with by_key there is one
  /// piece.
  virtual void for_each_piece(std::uint64_t first, std::uint64_t last, visit_order order,
                              const std::function<void(std::uint64_t, std::uint64_t, std::size_t piece)>& piece,
                              const execution& ex) const = 0;
};

/// Builds an index on `dev`; keys and values may be in host or device memory. Strong exception guarantee.
[[nodiscard]] std::unique_ptr<static_index> build_static_index(const device& dev, element_type elements,
                                                               const void* keys, const void* values, std::size_t n,
                                                               const build_options& options, const execution& ex);

}  // namespace espalier::detail
