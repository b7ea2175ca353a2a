// untyped_reads.hpp - the queries that all untyped indexes with keys of fixed width answer alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/index/elements.hpp"
#include "espalier/index/options.hpp"
#include "espalier/index/seek.hpp"

namespace espalier::detail {

/// Keys have the type that elements() states. Pointers may refer to host or device memory; null outputs are skipped.
class untyped_reads {
 public:
  virtual ~untyped_reads() = default;

  [[nodiscard]] virtual const device& get_device() const = 0;
  [[nodiscard]] virtual element_type elements() const = 0;

  virtual void find(const void* keys, std::size_t n, void* values, std::uint8_t* found, const query_options& options,
                    const execution& ex) const = 0;
  virtual void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values,
                    std::uint8_t* found, const query_options& options, const execution& ex) const = 0;
  virtual void count(const void* lo, const void* hi, std::size_t n, const range_options& options, std::uint64_t* counts,
                     const execution& ex) const = 0;
  /// Always waits for the total, and on a CPU for all elements.
  [[nodiscard]] virtual range_buffers range(const void* lo, const void* hi, std::size_t n, const range_options& options,
                                            const execution& ex) const = 0;
  /// Writes the first options.limit elements of range i to positions i * limit and up, and their number to counts[i].
  virtual void rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
                    void* out_values, std::uint64_t* counts, const execution& ex) const = 0;
  /// `out` is an array of sum_of<Value> for sum, of the value type for min and max (found[i] is 0 for an empty range),
  /// and of double for avg (NaN for an empty range).
  virtual void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                         std::uint8_t* found, const execution& ex) const = 0;
};

}  // namespace espalier::detail
