// index.hpp - the static tree without types: what the typed owner (static_tree.hpp) calls.
//
// One static_index is compiled per word size (4, 8) x value slot (0, 4, 8, 16 bytes) x backend; key and
// value types are known at run time as scalar_kind. This is why a user's program links in a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/device.hpp"
#include "espalier/static_tree/layout.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier::detail {

/// What the elements of an index are.
struct element_type {
  scalar_kind key = scalar_kind::u32;
  scalar_kind value = scalar_kind::opaque;  ///< opaque: aggregates are not possible
  unsigned value_bytes = 0;                 ///< 0: a set
};

/// Bytes a value takes inside the index: 0, 4, 8 or 16.
[[nodiscard]] constexpr unsigned value_slot(unsigned value_bytes) {
  return value_bytes == 0 ? 0 : value_bytes <= 4 ? 4 : value_bytes <= 8 ? 8 : 16;
}

/// Where a bulk call runs and whether it returns before it is done.
struct execution {
  stream order;
  bool wait = true;
};

struct range_buffers {
  buffer<std::uint64_t> offsets;  ///< one per query, and the total at the end
  raw_buffer keys;
  raw_buffer values;
  std::uint64_t total = 0;
};

/// Ranks of one piece of a visit on a CPU.
inline constexpr std::uint64_t visit_piece = 1 << 16;

/// The levels above the lines, as bytes: what a copy of them on another device is made from (hybrid_tree).
template <class Word>
struct inner_levels_view {
  tree_view<Word, external_keys> view;  ///< its pointers are in the memory of the index's device
  std::size_t header_bytes = 0, cell_bytes = 0, subtable_bytes = 0;
  [[nodiscard]] std::size_t bytes() const { return header_bytes + cell_bytes + subtable_bytes; }
};
using any_inner_levels_view = std::variant<inner_levels_view<std::uint32_t>, inner_levels_view<std::uint64_t>>;

enum class aggregate_op : std::uint8_t { sum, min, max, avg };
enum class bound_kind : std::uint8_t { lower, upper };
enum class neighbour_kind : std::uint8_t { successor, predecessor };

/// Pointers may be host or device memory; null outputs are skipped.
class static_index {
 public:
  virtual ~static_index() = default;

  [[nodiscard]] virtual const device& get_device() const = 0;
  [[nodiscard]] virtual element_type elements() const = 0;
  [[nodiscard]] virtual tree_stats stats() const = 0;
  [[nodiscard]] virtual aggregates kept() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  [[nodiscard]] virtual explanation explain(std::size_t queries, const query_options& options) const = 0;
  /// Address of the trivially copyable tree_view<Word, ValueSlot> that refs are made from.
  [[nodiscard]] virtual const void* view() const = 0;

  [[nodiscard]] virtual any_inner_levels_view upper() const = 0;

  virtual void find(const void* keys, std::size_t n, void* values, std::uint8_t* found, const query_options& options,
                    const execution& ex) const = 0;
  /// CPU only: the searches start at these lines (find_line_job); all memory is the host's.
  virtual void find_from(const std::uint32_t* lines, const void* keys, std::size_t n, void* values,
                         std::uint8_t* found) const = 0;
  virtual void bound(bound_kind kind, const void* keys, std::size_t n, std::uint64_t* ranks,
                     const query_options& options, const execution& ex) const = 0;
  virtual void neighbour(neighbour_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values,
                         std::uint8_t* found, const query_options& options, const execution& ex) const = 0;
  virtual void at(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values, std::uint8_t* found,
                  const execution& ex) const = 0;
  virtual void count(const void* lo, const void* hi, std::size_t n, const range_options& options, std::uint64_t* counts,
                     const execution& ex) const = 0;
  /// offsets has n + 1 elements: the exclusive prefix sums of count().
  virtual void range_offsets(const void* lo, const void* hi, std::size_t n, const range_options& options,
                             std::uint64_t* offsets, const execution& ex) const = 0;
  /// Writes offsets[n] elements, or the first `total` of them if that is less.
  virtual void range_fill(const void* lo, std::size_t n, const range_options& options, const std::uint64_t* offsets,
                          std::uint64_t total, void* out_keys, void* out_values, const execution& ex) const = 0;
  /// Waits for the total in any case; on a CPU for everything.
  [[nodiscard]] virtual range_buffers range(const void* lo, const void* hi, std::size_t n, const range_options& options,
                                            const execution& ex) const = 0;
  /// The first options.limit elements of range i in places i * limit and up. Null outputs are skipped.
  virtual void rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
                    void* out_values, std::uint64_t* counts, const execution& ex) const = 0;
  /// CPU only, as find_from: lines of the lower ends.
  virtual void rows_from(const std::uint32_t* lines, const void* lo, const void* hi, std::size_t n,
                         const range_options& options, void* out_keys, void* out_values,
                         std::uint64_t* counts) const = 0;
  /// out: sum_of<Value> for sum, the value type for min and max (found says which ranges held anything),
  /// double for avg (NaN where the range is empty).
  virtual void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                         std::uint8_t* found, const execution& ex) const = 0;
  /// CPU only: calls piece(first, last, number) for contiguous pieces of ranks [first, last), numbered in key order:
  /// with `any` of visit_piece ranks each, from all threads; with by_key as one piece.
  virtual void for_each_piece(std::uint64_t first, std::uint64_t last, visit_order order,
                              const std::function<void(std::uint64_t, std::uint64_t, std::size_t piece)>& piece,
                              const execution& ex) const = 0;
};

/// Builds an index on `where`; keys and values may be host or device memory. Strong guarantee.
[[nodiscard]] std::unique_ptr<static_index> build_static_index(const device& dev, element_type elements,
                                                               const void* keys, const void* values, std::size_t n,
                                                               const build_options& options, const execution& ex);

}  // namespace espalier::detail
