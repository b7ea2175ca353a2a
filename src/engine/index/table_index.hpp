// table_index.hpp - one ordered index over columns of a table: what the planner and the operators ask.
//
//   auto index = table_index::build(table, {.name = "by_time", .columns = {2}}, device::default_device());
//   range_batch q = index->ranges({.condition = key_condition::between, .lo = from, .hi = to});
//   std::vector<std::uint64_t> n = index->counts(q);
//   row_lists found = index->rows(q, {.limit = 10, .order = key_order::descending});
//
// All questions come in batches and are answered in host memory. Order: keys ascend, NULLs are last, rows of equal keys
// ascend; `descending` is exactly the reverse (NULLs first, as in PostgreSQL). In composite keys a NULL is a value
// above all others. -0.0 and 0.0 are one key; NaN is one key above all other numbers, as in PostgreSQL.
//
// Questions may come from several threads at once. A change is alone: nobody asks while it is prepared or committed.
// Changes are all or nothing; see prepare().
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
[[nodiscard]] std::string to_string(index_kind kind);  ///< as in USING: static, blink, radix, hybrid, auto

struct index_spec {
  std::string name;
  std::vector<std::size_t> columns;  ///< positions in the table, the first weighs most
  bool unique = false;               ///< rows with a NULL in a key column are not compared
  index_kind kind = index_kind::automatic;
  std::vector<std::size_t> included;  ///< numeric columns whose aggregates are made at once, not at the first question
};

enum class key_order : std::uint8_t { ascending, descending };

/// Answers are Arrow arrays with one value for each range; NULL where no value of the range is not NULL.
///   count_nonnull  int64, never NULL
///   sum            int64 of integers up to 32 bits, decimal(38,0) of int64, decimal(38,s) of decimals, else double
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
  std::uint64_t limit = no_limit;  ///< of each range
  key_order order = key_order::ascending;
};

/// The nearest row for each of a batch of places. Index over (g, h, ts): `equal` are the values of g and h, `at` those
/// of ts.
struct as_of_question {
  std::vector<std::shared_ptr<arrow::Array>> equal;
  std::shared_ptr<arrow::Array> at;
  bool strict = false;  ///< not `at` itself
  bool earlier = true;  ///< the last one at or before `at`; else the first one at or after it
};

/// Two rows with one key in a unique index. The message names index and key.
class unique_violation : public error {
 public:
  unique_violation(const std::string& message, std::uint64_t row) : error(message), row_(row) {}
  [[nodiscard]] std::uint64_t row() const noexcept { return row_; }  ///< the new one

 private:
  std::uint64_t row_;
};

/// Told how much of a build is done, 0 to 1, from the building thread.
using index_progress = std::function<void(double done)>;

class table_index_impl;

/// A change that is ready: nothing can go wrong from here on. Undone if it goes without a commit.
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

/// Takes back all changes of one index that were committed with it, as long as no other changes were committed since.
/// Destroyed without undo(), it lets the changes stay. The index lives longer.
class index_undo {
 public:
  index_undo();
  index_undo(index_undo&&) noexcept;
  index_undo& operator=(index_undo&&) noexcept;
  ~index_undo();
  /// The index of `table_ptr` at the first change. Where memory is missing for that, the index is_whole() no more.
  void undo() noexcept;

 private:
  friend class table_index;
  struct state;
  std::unique_ptr<state> state_;
};

class table_index {
 public:
  using table_ptr = std::shared_ptr<const table_version>;

  /// Over all rows that are not deleted. Throws `unique_violation`; `error` where the kind cannot hold such keys
  /// (blink, static and hybrid take what fits 64 bits; automatic and radix take everything).
  [[nodiscard]] static std::unique_ptr<table_index> build(table_ptr table, index_spec spec, const device& where,
                                                          const index_progress& tell = {});
  table_index(const table_index&) = delete;
  table_index& operator=(const table_index&) = delete;
  ~table_index();

  // ---- questions ---------------------------------------------------------------------------------------------------

  [[nodiscard]] range_batch ranges(const key_ranges& shape) const;

  /// Exact. Two searches where has_ranks(); else the range is walked.
  [[nodiscard]] std::vector<std::uint64_t> counts(const range_batch& ranges) const;
  /// About so many, and cheap in any case: exact where has_ranks(), and before is_built(). Builds no tree.
  [[nodiscard]] std::vector<std::uint64_t> estimates(const range_batch& ranges) const;
  [[nodiscard]] row_lists rows(const range_batch& ranges, const row_options& options = {}) const;
  /// Can keys() answer this? Not while changes are pending (static, radix), or where it would read the whole range for
  /// its last keys (blink, hybrid, radix). Float columns are not for keys(): an index knows no -0.0.
  [[nodiscard]] bool gives_keys(const row_options& options) const;
  /// Values of the key columns, an array for each, of the rows that rows() answers and in their order: from the index
  /// alone. Null for a column with more text than one array holds.
  [[nodiscard]] std::vector<std::shared_ptr<arrow::Array>> keys(const range_batch& ranges,
                                                                const row_options& options = {}) const;
  /// Rows with these values in the first key columns, one array for each of them: equality joins.
  [[nodiscard]] row_lists find(const std::vector<std::shared_ptr<arrow::Array>>& keys) const;
  /// Where has_ranks(), microseconds whatever the length of a range, once the column's aggregates are made (first use).
  /// Throws `overflow` if a sum of decimals has more than 38 digits.
  [[nodiscard]] std::shared_ptr<arrow::Array> aggregate(aggregate_function f, std::size_t column,
                                                        const range_batch& ranges) const;
  /// A row for each place, or no_row.
  [[nodiscard]] std::vector<std::uint64_t> as_of(const as_of_question& question) const;
  /// All rows in order, those with NULL keys as well.
  [[nodiscard]] std::vector<std::uint64_t> ordered_rows(key_order order, std::uint64_t offset = 0,
                                                        std::uint64_t limit = no_limit) const;

  // ---- changes -----------------------------------------------------------------------------------------------------
  // `now` is the version after the change: `erased` rows are deleted in it (their values are still there), `inserted`
  // ones are new. A statement that touches several indexes prepares all of them, then commits all of them.

  /// Throws, with nothing changed: `unique_violation` (checked as the table will be: erased keys are free), out of
  /// memory.
  [[nodiscard]] index_change prepare(table_ptr now, std::span<const std::uint64_t> erased,
                                     std::span<const std::uint64_t> inserted);
  void commit(index_change change) noexcept;
  /// The same, so that `undo` can take it back. Memory is not needed for that here.
  void commit(index_change change, index_undo& undo) noexcept;
  void insert(table_ptr now, std::span<const std::uint64_t> rows) { commit(prepare(std::move(now), {}, rows)); }
  void erase(table_ptr now, std::span<const std::uint64_t> rows) { commit(prepare(std::move(now), rows, {})); }
  /// The table has another version with the same rows and row ids (such as a column added or renamed elsewhere).
  void rebase(table_ptr now) noexcept;

  // ---- about the index ---------------------------------------------------------------------------------------------

  [[nodiscard]] const index_spec& spec() const noexcept;  ///< as it was asked for
  [[nodiscard]] bool is_whole() const noexcept;           ///< false: a change could not be undone; build it again
  [[nodiscard]] index_kind kind() const;                  ///< what it is: never automatic
  [[nodiscard]] bool has_ranks() const;                   ///< static and radix
  [[nodiscard]] bool is_unique() const noexcept { return spec().unique; }
  [[nodiscard]] const device& get_device() const noexcept;
  [[nodiscard]] std::uint64_t rows_indexed() const;  ///< those with NULL keys as well
  [[nodiscard]] std::uint64_t null_rows() const;     ///< of indexes over one column; in composite keys NULL is a value
  [[nodiscard]] bool is_built() const noexcept;      ///< false: loaded, and not used yet
  [[nodiscard]] std::size_t bytes() const;  ///< in host and device memory together; before is_built() of the keys
  [[nodiscard]] bool can_aggregate(aggregate_function f, std::size_t column) const;
  [[nodiscard]] std::string explain() const;  ///< one line: kind, keys, rows, pending changes, memory, device
  /// Compares everything with the table. Empty if all is right, else the first thing that is not.
  [[nodiscard]] std::string validate() const;

  // ---- files: the store owns framing, checksums and names ---------------------------------------------------------

  void save(section_writer& to) const;
  /// Kind and encoding of keys as text. Two indexes of the same rows with the same layout save the same.
  [[nodiscard]] std::string layout() const;
  /// The index of `table` from what save() wrote when the table had the rows of `covers` (nothing: those that it has
  /// now). Rows deleted since are left out and rows added since are merged in; null where one of them does not fit the
  /// encoding of the saved keys. Throws `damaged_file` where the sections cannot be that: sizes, order, rows.
  /// Without changes row ids stay where they are mapped; trees are built from the keys, which lie there in order.
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
