// device_kernels.hpp - steps of an index in the memory of a device that the owners of the library do not have: rows of
// ranks, matches, defaults, checks. All pointers are memory of the device.
//
// device_kernels.ipp has the bodies, one per step, for the processors of both kinds: compiled by nvcc for GPUs, and
// without CUDA for a CPU, where only tests use them. A step is enqueued on a GPU and complete on a CPU. Those that
// return a value wait for it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/scalar.hpp"
#include "espalier/device/device.hpp"

namespace espalier::python::device_kernels {

/// Rows of ranks in 4 or 8 bytes; no bytes: the rank is the row.
struct row_array {
  const void* data = nullptr;
  unsigned bytes = 0;
};

struct work_place {
  const device& on;
  const stream& order;
};

// ---- build ----

[[nodiscard]] bool ascends(work_place at, scalar_kind kind, const void* keys, std::size_t n);
/// Sorts keys with their rows, which have `row_bytes`; all outputs have n elements.
void sort_with_rows(work_place at, scalar_kind kind, const void* keys, std::size_t n, void* sorted_keys, void* rows,
                    unsigned row_bytes);
void gather(work_place at, unsigned width, const void* from, row_array rows, std::size_t n, void* to);
/// Copies floats with 0.0 for each -0.0.
void without_negative_zeros(work_place at, scalar_kind kind, const void* from, std::size_t n, void* to);
/// Copies elements that are `stride` bytes apart, which may be negative.
void copy_strided(work_place at, unsigned width, const void* from, std::ptrdiff_t stride, std::size_t n, void* to);

// ---- queries ----

/// ranks[i] becomes the row if found[i] and keys[i] equals queries[i]; otherwise -1, and found[i] 0.
void rows_of_matches(work_place at, scalar_kind kind, const void* queries, const void* keys, std::uint8_t* found,
                     row_array rows, std::size_t n, std::uint64_t* ranks);
/// Rank 0 becomes one that is out of range.
void decrement(work_place at, std::uint64_t* ranks, std::size_t n);
/// ranks[i] becomes the row, or -1 if found[i] is 0. `found` may be null: then all are found.
void rows_of_ranks(work_place at, const std::uint8_t* found, row_array rows, std::size_t n, std::uint64_t* ranks);

struct asof_arguments {
  const void* queries;
  const std::uint64_t *back_ranks, *ahead_ranks;  ///< null: not a direction of the request
  const void *back_keys, *ahead_keys;
  std::uint64_t comparable;  ///< keys before the first NaN
  bool has_tolerance;
  std::uint64_t tolerance;
  double real_tolerance;
  row_array rows;
  std::int64_t* out_rows;
  std::uint8_t* found;
};
void asof(work_place at, scalar_kind kind, const asof_arguments& arguments, std::size_t n);

/// The first i with found[i] == 0, or n. The mask is aligned to 4 bytes.
[[nodiscard]] std::uint64_t first_missing(work_place at, const std::uint8_t* found, std::size_t n);
/// values[i] becomes the value whose bytes begin `bits` where found[i] is 0.
void fill_missing(work_place at, unsigned width, const std::uint8_t* found, std::uint64_t bits, std::size_t n,
                  void* values);
/// Writes 128-bit sums in 64 bits. Returns the first that does not fit, or n.
[[nodiscard]] std::uint64_t narrow_sums(work_place at, bool is_signed, const void* wide, std::size_t n, void* sums);
/// Reads ranks of an integer type, of which negative ones count from `size`. Returns the first that is out of range,
/// or n.
[[nodiscard]] std::uint64_t read_ranks(work_place at, scalar_kind kind, const void* asked, std::uint64_t size,
                                       std::size_t n, std::uint64_t* ranks);
/// Rows of the elements of ranges: those of range i begin with rank starts[i] and are written from offsets[i] on.
void rows_of_ranges(work_place at, const std::uint64_t* offsets, const std::uint64_t* starts, std::size_t ranges,
                    std::uint64_t total, row_array rows, std::int64_t* out);

}  // namespace espalier::python::device_kernels
