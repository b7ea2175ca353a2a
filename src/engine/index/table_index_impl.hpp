// table_index_impl.hpp - the interface of every kind of index behind table_index: queries on encoded ranges, and
// prepared changes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/index/column_aggregates.hpp"
#include "engine/index/key_encoder.hpp"
#include "engine/index/ordered_keys.hpp"
#include "engine/index/table_index.hpp"

namespace espalier::engine {

/// A prepared change; destruction without a commit reverts it. A committed change can be undone until it is destroyed.
class core_change {
 public:
  virtual ~core_change() = default;
  virtual void commit() noexcept = 0;
  /// Called after commit(). Later changes have been undone before, unless undoes_later_changes().
  virtual void undo() noexcept = 0;
  /// Returns whether undo() restores the core to its state before this change, even if later changes were committed.
  [[nodiscard]] virtual bool undoes_later_changes() const noexcept = 0;
};

/// Rows with their keys, to be inserted or erased.
struct keyed_rows {
  encoded_keys keys;
  std::vector<std::uint64_t> rows;
};

class table_index_impl {
 public:
  virtual ~table_index_impl() = default;

  [[nodiscard]] virtual index_kind kind() const = 0;
  [[nodiscard]] virtual bool has_ranks() const = 0;

  [[nodiscard]] virtual std::vector<std::uint64_t> counts(const range_batch& ranges) const = 0;
  /// Returns counts that may be approximate where reading the range would be expensive.
  [[nodiscard]] virtual std::vector<std::uint64_t> estimates(const range_batch& ranges) const { return counts(ranges); }
  [[nodiscard]] virtual row_lists rows(const range_batch& ranges, const row_options& options) const = 0;
  /// Returns whether the core can return the keys of a range without the rows and without reading far more than the
  /// range.
  [[nodiscard]] virtual bool gives_keys(const row_options& options) const = 0;
  /// Returns the keys of the rows that rows() returns, in the same order. Requires gives_keys().
  [[nodiscard]] virtual encoded_keys keys(const range_batch& ranges, const row_options& options) const = 0;
  /// Returns the first or the last row of each range, or no_row.
  [[nodiscard]] virtual std::vector<std::uint64_t> edge(const range_batch& ranges, bool last) const = 0;
  [[nodiscard]] virtual std::shared_ptr<arrow::Array> aggregate(aggregate_function f, const summary_source& column,
                                                                const range_batch& ranges) const = 0;
  /// Builds the aggregates of the column now and not at the first query.
  virtual void prepare_aggregates(const summary_source&) {}
  [[nodiscard]] virtual std::vector<std::uint64_t> ordered_rows(key_order order, std::uint64_t offset,
                                                                std::uint64_t limit) const = 0;

  /// Returns null if the change is so large that the index should be rebuilt. A unique index throws `duplicate_key`.
  [[nodiscard]] virtual std::unique_ptr<core_change> prepare(const keyed_rows& erased, const keyed_rows& inserted,
                                                             bool unique) = 0;
  /// Returns all keys in order, as saved, or nothing if the core does not store them in order; they are read from the
  /// table then.
  [[nodiscard]] virtual std::optional<ordered_keys> content() const = 0;

  /// Returns false after a change that could not be undone for lack of memory; every query throws then.
  [[nodiscard]] virtual bool is_whole() const noexcept { return true; }
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual std::uint64_t null_rows() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  [[nodiscard]] virtual std::string explain() const = 0;
  /// Checks the invariants of the trees; the result is empty if all hold.
  [[nodiscard]] virtual std::string validate() const = 0;
};

/// Two rows of a unique index have the same key. `row` is the new one; the other one exists or is new as well.
struct duplicate_key {
  std::uint64_t row;
};

[[nodiscard]] std::unique_ptr<table_index_impl> make_static_core(ordered_keys keys, const device& where);
[[nodiscard]] std::unique_ptr<table_index_impl> make_radix_core(ordered_keys keys, const device& where);
[[nodiscard]] std::unique_ptr<table_index_impl> make_blink_core(const ordered_keys& keys, const device& where);
[[nodiscard]] std::unique_ptr<table_index_impl> make_hybrid_core(const ordered_keys& keys, const device& where);

}  // namespace espalier::engine
