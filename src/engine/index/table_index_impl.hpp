// table_index_impl.hpp - what every kind of index does, behind table_index: questions about encoded ranges, prepared
// changes.
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

/// Ready to be committed; undone when it is destroyed without that. A committed one can be undone until it is
/// destroyed.
class core_change {
 public:
  virtual ~core_change() = default;
  virtual void commit() noexcept = 0;
  /// After commit(). Changes that were committed later have been undone before, or undoes_later_changes().
  virtual void undo() noexcept = 0;
  /// undo() restores the core as it was before this change, whatever was committed since.
  [[nodiscard]] virtual bool undoes_later_changes() const noexcept = 0;
};

/// Rows with their keys, to be put in or taken out.
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
  /// The same, where walking the range would be dear about so many.
  [[nodiscard]] virtual std::vector<std::uint64_t> estimates(const range_batch& ranges) const { return counts(ranges); }
  [[nodiscard]] virtual row_lists rows(const range_batch& ranges, const row_options& options) const = 0;
  /// Can it tell the keys of a range without the rows, and without reading far more than that?
  [[nodiscard]] virtual bool gives_keys(const row_options& options) const = 0;
  /// Keys of the rows that rows() answers, in the same order. Only where it gives_keys().
  [[nodiscard]] virtual encoded_keys keys(const range_batch& ranges, const row_options& options) const = 0;
  /// The first or the last row of each range, or no_row.
  [[nodiscard]] virtual std::vector<std::uint64_t> edge(const range_batch& ranges, bool last) const = 0;
  [[nodiscard]] virtual std::shared_ptr<arrow::Array> aggregate(aggregate_function f, const summary_source& column,
                                                                const range_batch& ranges) const = 0;
  /// What aggregates of the column need, made now and not at the first question.
  virtual void prepare_aggregates(const summary_source&) {}
  [[nodiscard]] virtual std::vector<std::uint64_t> ordered_rows(key_order order, std::uint64_t offset,
                                                                std::uint64_t limit) const = 0;

  /// Null if the change is so large that the index had better be built anew. A unique index throws `duplicate_key`.
  [[nodiscard]] virtual std::unique_ptr<core_change> prepare(const keyed_rows& erased, const keyed_rows& inserted,
                                                             bool unique) = 0;
  /// All keys in order, as saved; nothing if they are not at hand in order: then they are read from the table.
  [[nodiscard]] virtual std::optional<ordered_keys> content() const = 0;

  /// False after a change that could not be undone for want of memory: every question throws.
  [[nodiscard]] virtual bool is_whole() const noexcept { return true; }
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  [[nodiscard]] virtual std::uint64_t null_rows() const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  [[nodiscard]] virtual std::string explain() const = 0;
  /// Invariants of the trees; empty if all hold.
  [[nodiscard]] virtual std::string validate() const = 0;
};

/// Two rows of a unique index have one key: the new one, and one that is there or is new as well.
struct duplicate_key {
  std::uint64_t row;
};

[[nodiscard]] std::unique_ptr<table_index_impl> make_static_core(ordered_keys keys, const device& where);
[[nodiscard]] std::unique_ptr<table_index_impl> make_radix_core(ordered_keys keys, const device& where);
[[nodiscard]] std::unique_ptr<table_index_impl> make_blink_core(const ordered_keys& keys, const device& where);
[[nodiscard]] std::unique_ptr<table_index_impl> make_hybrid_core(const ordered_keys& keys, const device& where);

}  // namespace espalier::engine
