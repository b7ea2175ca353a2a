// table_index.hpp - an ordered index over columns of a table, the interface for planner and operators.
//
//   auto index = table_index::build(table, {.name = "by_time", .columns = {2}}, device::default_device());
//   range_batch q = index->ranges({.condition = key_condition::between, .lo = from, .hi = to});
//   std::vector<std::uint64_t> n = index->counts(q);
//   row_lists found = index->rows(q, {.limit = 10, .order = key_order::descending});
//
// Queries are batched, and results are in host memory. Keys ascend, NULLs are last, and rows of equal keys ascend;
// `descending` is the exact reverse (NULLs first, as in PostgreSQL). In composite keys, NULL is a value above all
// others. -0.0 and 0.0 are one key; NaN is one key above all other numbers, as in PostgreSQL.
//
// Concurrency: several threads may query an index at the same time. Preparing or committing a change requires exclusive
// access. Changes are atomic; see prepare().
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/index/ranges.hpp"
#include "engine/table/row_counts.hpp"
#include "espalier/core/error.hpp"
#include "espalier/device/device.hpp"

namespace espalier::engine {

class table_version;
class mapped_sections;
class section_writer;

enum class index_kind : std::uint8_t { static_tree, blink, radix, hybrid, automatic };
[[nodiscard]] std::string to_string(index_kind kind);  ///< the name in USING: static, blink, radix, hybrid, auto

struct index_spec {
  std::string name;
  std::vector<std::size_t> columns;  ///< positions in the table, most significant first
  bool unique = false;               ///< rows with a NULL in a key column are exempt
  index_kind kind = index_kind::automatic;
  std::vector<std::size_t> included;  ///< numeric columns whose aggregates are built with the index
};

enum class key_order : std::uint8_t { ascending, descending };

/// Results are Arrow arrays with one value per range, which is NULL if the range has no value that is not NULL.
///   count_nonnull  int64, never NULL
///   sum            int64 for integers up to 32 bits, decimal(38,0) for int64, decimal(38,s) for decimals, else double
///   min, max       the type of the column; not for varchar
enum class aggregate_function : std::uint8_t { count_nonnull, sum, min, max };

inline constexpr std::uint64_t no_row = std::numeric_limits<std::uint64_t>::max();
inline constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();

/// Range i has the rows [offsets[i], offsets[i + 1]) of `rows`.
struct row_lists {
  std::vector<std::uint64_t> offsets{0};
  std::vector<std::uint64_t> rows;
};

struct row_options {
  std::uint64_t limit = no_limit;  ///< per range
  key_order order = key_order::ascending;
};

/// A batch of nearest-row queries. For an index over (g, h, ts), `equal` has the values of g and h, and `at` those of
/// ts.
struct as_of_question {
  std::vector<std::shared_ptr<arrow::Array>> equal;
  std::shared_ptr<arrow::Array> at;
  bool strict = false;  ///< exclude `at` itself
  bool earlier = true;  ///< the last row at or before `at`; otherwise the first one at or after it
};

/// Two rows of a unique index have the same key. The message includes the index and the key.
class unique_violation : public error {
 public:
  unique_violation(const std::string& message, std::uint64_t row) : error(message), row_(row) {}
  [[nodiscard]] std::uint64_t row() const noexcept { return row_; }  ///< the new row

 private:
  std::uint64_t row_;
};

/// Reports the progress of a build, 0 to 1, on the building thread.
using index_progress = std::function<void(double done)>;

class table_index_impl;

/// A prepared change; committing it cannot fail. Destruction without a commit reverts it.
class index_change {
 public:
  struct state;
  explicit index_change(std::unique_ptr<state> s);
  index_change(index_change&&) noexcept;
  index_change& operator=(index_change&&) noexcept;
  ~index_change();

 private:
  friend class table_index;
  friend class index_undo;
  std::unique_ptr<state> state_;
};

/// Reverts all changes of one index that were committed with it, provided that no other changes were committed since.
/// Destruction without undo() keeps the changes. The index must outlive it.
class index_undo {
 public:
  index_undo();
  index_undo(index_undo&&) noexcept;
  index_undo& operator=(index_undo&&) noexcept;
  ~index_undo();
  /// Restores the index of `table_ptr` before the first change. If memory is insufficient for that, is_whole() becomes
  /// false.
  void undo() noexcept;

 private:
  friend class table_index;
  struct state;
  std::unique_ptr<state> state_;
};

class table_index {
 public:
  using table_ptr = std::shared_ptr<const table_version>;

  /// Builds an index of all rows that are not deleted. Throws `unique_violation`, or `error` if the kind does not
  /// support such keys: blink, static and hybrid support keys that fit 64 bits, automatic and radix all keys.
  [[nodiscard]] static std::unique_ptr<table_index> build(table_ptr table, index_spec spec, const device& where,
                                                          const index_progress& tell = {});
  /// Makes an index that calls `open` for its content at the first call that needs more than spec(). If `open` throws,
  /// so does that call, and the next one tries again.
  using opener = std::function<std::unique_ptr<table_index>(const table_ptr& table)>;
  [[nodiscard]] static std::unique_ptr<table_index> deferred(table_ptr table, index_spec spec, const device& where,
                                                             opener open);
  table_index(const table_index&) = delete;
  table_index& operator=(const table_index&) = delete;
  ~table_index();

  // ---- queries -----------------------------------------------------------------------------------------------------

  [[nodiscard]] range_batch ranges(const key_ranges& shape) const;

  /// Returns exact counts. It takes two searches per range if has_ranks(); otherwise it reads the range.
  [[nodiscard]] std::vector<std::uint64_t> counts(const range_batch& ranges) const;
  /// Returns approximate counts and is always cheap. They are exact if has_ranks(), and before is_built(). Does not
  /// build a tree.
  [[nodiscard]] std::vector<std::uint64_t> estimates(const range_batch& ranges) const;
  [[nodiscard]] row_lists rows(const range_batch& ranges, const row_options& options = {}) const;
  /// Returns whether keys() supports these options. It does not while changes are pending (static, radix), or if it
  /// would read the whole range for its last keys (blink, hybrid, radix). keys() must not be used for float columns,
  /// since an index does not store -0.0.
  [[nodiscard]] bool gives_keys(const row_options& options) const;
  /// Returns the values of the key columns, one array each, of the rows that rows() returns, in the same order. The
  /// table is not read. The array is null for a column whose text does not fit one array.
  [[nodiscard]] std::vector<std::shared_ptr<arrow::Array>> keys(const range_batch& ranges,
                                                                const row_options& options = {}) const;
  /// Returns the rows with these values in the first key columns, one array per column. Used by equality joins.
  [[nodiscard]] row_lists find(const std::vector<std::shared_ptr<arrow::Array>>& keys) const;
  /// With has_ranks(), this takes microseconds for a range of any length, once the column's aggregates were built at
  /// the first use. Throws `overflow` if a sum of decimals has more than 38 digits.
  [[nodiscard]] std::shared_ptr<arrow::Array> aggregate(aggregate_function f, std::size_t column,
                                                        const range_batch& ranges) const;
  /// Returns a row for each query, or no_row.
  [[nodiscard]] std::vector<std::uint64_t> as_of(const as_of_question& question) const;
  /// Returns all rows in order, including those with NULL keys.
  [[nodiscard]] std::vector<std::uint64_t> ordered_rows(key_order order, std::uint64_t offset = 0,
                                                        std::uint64_t limit = no_limit) const;

  // ---- changes -----------------------------------------------------------------------------------------------------
  // `now` is the version after the change: `erased` rows are deleted in it (their values can still be read), and
  // `inserted` rows are new. A statement that changes several indexes prepares all of them and then commits all of
  // them.

  /// Throws `unique_violation` or out of memory, with nothing changed. Uniqueness is checked against the table after
  /// the change, so the keys of erased rows are free.
  [[nodiscard]] index_change prepare(table_ptr now, std::span<const std::uint64_t> erased,
                                     std::span<const std::uint64_t> inserted);
  void commit(index_change change) noexcept;
  /// Commits a change that `undo` can revert. Does not allocate.
  void commit(index_change change, index_undo& undo) noexcept;
  void insert(table_ptr now, std::span<const std::uint64_t> rows) { commit(prepare(std::move(now), {}, rows)); }
  void erase(table_ptr now, std::span<const std::uint64_t> rows) { commit(prepare(std::move(now), rows, {})); }

  // ---- about the index ---------------------------------------------------------------------------------------------

  [[nodiscard]] const index_spec& spec() const noexcept;  ///< as requested
  [[nodiscard]] bool is_whole() const noexcept;  ///< false if a change could not be reverted; rebuild the index
  [[nodiscard]] index_kind kind() const;         ///< the actual kind, never automatic
  [[nodiscard]] bool has_ranks() const;          ///< static and radix
  [[nodiscard]] bool is_unique() const noexcept { return spec().unique; }
  [[nodiscard]] const device& get_device() const noexcept;
  [[nodiscard]] std::uint64_t rows_indexed() const;  ///< including those with NULL keys
  [[nodiscard]] std::uint64_t null_rows() const;     ///< for an index on one column; in composite keys NULL is a value
  [[nodiscard]] bool is_open() const noexcept;       ///< false if it is deferred and its content was not needed yet
  void open() const;                                 ///< does what the first use does
  [[nodiscard]] bool is_built() const noexcept;      ///< false if it was loaded and not used yet
  [[nodiscard]] std::size_t bytes() const;           ///< in host and device memory; the keys only before is_built()
  [[nodiscard]] bool can_aggregate(aggregate_function f, std::size_t column) const;
  [[nodiscard]] std::string explain() const;  ///< one line: kind, keys, rows, pending changes, memory, device
  /// Compares the whole index with the table. Returns an empty string, or a description of the first error.
  [[nodiscard]] std::string validate() const;

  // ---- files: the store owns framing, checksums and names ---------------------------------------------------------

  void save(section_writer& to) const;
  /// Returns the kind and the key encoding as text. Two indexes of the same rows with the same layout save the same
  /// bytes.
  [[nodiscard]] std::string layout() const;
  /// Loads the index of `table` from sections that save() wrote when the table had the rows of `covers` (nothing means
  /// the current rows). Rows that were deleted since are dropped, and rows that were added since are merged in; returns
  /// null if one of them does not fit the encoding of the saved keys. Throws `damaged_file` if sizes, order or rows are
  /// invalid. Without changes, row ids are used in the mapped file; trees are built from the sorted keys there.
  [[nodiscard]] static std::unique_ptr<table_index> load(table_ptr table, index_spec spec,
                                                         std::shared_ptr<const mapped_sections> from,
                                                         const device& where, std::optional<row_counts> covers = {});

 private:
  friend class index_undo;
  struct parts;
  explicit table_index(std::unique_ptr<parts> p);
  void put_in_place(index_change::state& next) noexcept;
  std::unique_ptr<parts> parts_;
};

}  // namespace espalier::engine
