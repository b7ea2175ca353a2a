// index.hpp - the type-erased hybrid tree that the typed owner (hybrid_tree.hpp) calls. All pointers refer to host
// memory.
//
// All calls wait for their results. Queries that bulk_reads.hpp forwards have an `execution` because those of the other
// trees have one; it is not used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/blink_tree/index.hpp"  // seek_kind, write_op
#include "espalier/hybrid_tree/options.hpp"
#include "espalier/index/elements.hpp"

namespace espalier::detail {

class hybrid_index {
 public:
  virtual ~hybrid_index() = default;

  [[nodiscard]] virtual const device& get_device() const = 0;  ///< device of the inner levels
  [[nodiscard]] virtual const device& host() const = 0;
  [[nodiscard]] virtual element_type elements() const = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual hybrid_stats stats() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  /// Finds the best placement and balance for keys like these by running queries.
  virtual void tune(const void* keys, std::size_t n) = 0;

  virtual void find(const void* keys, std::size_t n, void* values, std::uint8_t* found, const hybrid_query_options& how,
                    const execution& = {}) const = 0;
  virtual void seek(seek_kind kind, const void* keys, std::size_t n, void* out_keys, void* out_values,
                    std::uint8_t* found, const query_options& options = {}, const execution& = {}) const = 0;
  virtual void count(const void* lo, const void* hi, std::size_t n, const range_options& options, std::uint64_t* counts,
                     const execution& = {}) const = 0;
  virtual void rank(bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks) const = 0;
  /// As static_index::select, in host memory.
  virtual void select(const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values,
                      std::uint8_t* found) const = 0;
  /// Estimates the number of elements in a closed range (hybrid_tree::estimate_count).
  [[nodiscard]] virtual std::uint64_t estimate(const void* lo, const void* hi) const = 0;
  [[nodiscard]] virtual range_buffers range(const void* lo, const void* hi, std::size_t n, const range_options& options,
                                            const execution& = {}) const = 0;
  /// As static_index::rows, in host memory.
  virtual void rows(const void* lo, const void* hi, std::size_t n, const range_options& options, void* out_keys,
                    void* out_values, std::uint64_t* counts, const hybrid_query_options& how) const = 0;
  virtual void aggregate(aggregate_op op, const void* lo, const void* hi, std::size_t n, interval ends, void* out,
                         std::uint8_t* found, const execution& = {}) const = 0;
  /// Strong exception guarantee.
  virtual void write(write_op op, const void* keys, const void* values, std::size_t n, std::uint8_t* done,
                     update_mode way) = 0;
};

/// Builds an index. Of equal keys the last one wins. n = 0 makes an empty tree.
[[nodiscard]] std::unique_ptr<hybrid_index> build_hybrid_index(const device& dev, element_type elements,
                                                               const hybrid_options& options, const void* keys,
                                                               const void* values, std::size_t n);

}  // namespace espalier::detail
