#include "engine/exec/fallible_column.hpp"

#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/type_traits.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "engine/error.hpp"
#include "engine/exec/join_pairs.hpp"
#include "engine/expr/failing.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/keys/groups.hpp"
#include "engine/keys/normalized_keys.hpp"
#include "engine/keys/ordered_groups.hpp"
#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"
#include "engine/types.hpp"

namespace espalier::engine {
namespace {

using column_ptr = std::shared_ptr<arrow::ChunkedArray>;

constexpr std::int64_t most_rows_of_a_part = std::int64_t{1} << 20;

// Returns the column, or null if it fails because of a value.
column_ptr column_unless_it_fails(const expr_ptr& e, const relation& rows, const evaluation& values) {
  try {
    return values.column(e, rows);
  } catch (const located_error& problem) {
    if (!is_about_values(problem)) throw;
  }
  return nullptr;
}

std::vector<std::int64_t> null_rows(const arrow::ChunkedArray& column) {
  std::vector<std::int64_t> out;
  std::int64_t first = 0;
  for (const auto& chunk : column.chunks()) {
    for_each_row(static_cast<std::size_t>(chunk->length()), [&](std::size_t row) {
      const auto i = static_cast<std::int64_t>(row);
      if (chunk->IsNull(i)) out.push_back(first + i);
    });
    first += chunk->length();
  }
  return out;
}

relation read_columns(const expr_ptr& e, const relation& rows) {
  std::set<column_id> read;
  collect_columns(e, read);
  relation out = only(rows, read);
  out.rows = rows.rows;
  return out;
}

class column_parts {
 public:
  explicit column_parts(const expr_ptr& e) : type_(arrow_type(e->type)) {}
  void add(const arrow::ChunkedArray& part) {
    chunks_.insert(chunks_.end(), part.chunks().begin(), part.chunks().end());
  }
  void add_nulls(std::int64_t count) { chunks_.push_back(value_of(arrow::MakeArrayOfNull(type_, count))); }
  [[nodiscard]] column_ptr finish() && { return std::make_shared<arrow::ChunkedArray>(std::move(chunks_), type_); }

 private:
  std::shared_ptr<arrow::DataType> type_;
  arrow::ArrayVector chunks_;
};

// The values of the part's rows that reach the expression; they are evaluated together.
column_ptr part_of_reaching(const expr_ptr& e, const relation& rows, std::int64_t begin, std::int64_t count,
                            const evaluation& values, const reaching_rows& reaching) {
  const memory_claim claim(static_cast<std::size_t>(count) * 3 * sizeof(std::int64_t));
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), begin);
  const auto needed = reaching(all);
  relation some = take_rows(rows, needed);
  some.rows = std::ssize(needed);
  relation result;
  result.rows = some.rows;
  result.add(0, values.column(e, some));
  std::vector<std::int64_t> places(all.size(), null_row);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    places[static_cast<std::size_t>(needed[i] - begin)] = static_cast<std::int64_t>(i);
  }
  return take_rows_or_null(result, places).columns[0];
}

void add_halves(const expr_ptr& e, const relation& rows, std::int64_t begin, std::int64_t count,
                const evaluation& values, column_parts& out) {
  check_cancelled();
  if (const auto part = column_unless_it_fails(e, slice_rows(rows, begin, count), values)) return out.add(*part);
  if (count == 1) return out.add_nulls(1);
  add_halves(e, rows, begin, count / 2, values, out);
  add_halves(e, rows, begin + count / 2, count - count / 2, values, out);
}

// The conditions before the first one that has the expression. Of IS NOT DISTINCT FROM, which joins compare as COALESCE
// of both sides, those that cannot fail.
std::vector<expr_ptr> conditions_before(const expr_ptr& e, const std::vector<expr_ptr>& conditions) {
  auto out = harmless_first(conditions);
  const auto has_it = [&](const expr_ptr& condition) {
    return any_node(condition, [&](const expr& node) { return same(node, *e); });
  };
  const auto found = std::ranges::find_if(out, has_it);
  out.erase(found == out.end() ? std::ranges::find_if_not(out, cannot_fail) : found, out.end());
  return out;
}

// The rows for which the condition is true.
std::vector<std::int64_t> passing_rows(const expr_ptr& condition, const relation& rows, const evaluation& values) {
  constexpr auto number = std::numeric_limits<column_id>::max();  // no column of a statement has this id
  const std::set<column_id> all(rows.ids.begin(), rows.ids.end());
  const auto passed = values.filter({condition}, rows, all, number).column(number);
  std::vector<std::int64_t> out;
  for (const auto& chunk : passed->chunks()) {
    const auto& numbers = static_cast<const arrow::Int64Array&>(*chunk);
    out.insert(out.end(), numbers.raw_values(), numbers.raw_values() + numbers.length());
  }
  return out;
}

// Some rows of a relation, by their numbers.
struct rows_by_number {
  relation rows;
  std::vector<std::int64_t> numbers;

  void keep(std::span<const std::int64_t> places) {
    rows = take_rows(rows, places);
    rows.rows = std::ssize(places);
    for (std::size_t i = 0; i < places.size(); ++i) numbers[i] = numbers[static_cast<std::size_t>(places[i])];
    numbers.resize(places.size());
  }
};

// The rows of a relation by the values of all columns, or nothing if equal values may differ in their sign.
std::optional<row_groups> groups_of_equal_rows(const relation& rows) {
  std::vector<sort_key_column> codes;
  for (const auto& column : rows.columns) {
    if (arrow::is_floating(column->type()->id())) return std::nullopt;
    codes.push_back(group_codes(*column));
  }
  return grouped(codes, static_cast<std::size_t>(rows.rows));
}

// Normalized keys, packed keys, groups and row numbers.
std::size_t search_bytes(std::int64_t rows, std::size_t columns) {
  return static_cast<std::size_t>(rows) * (16 + 16 * columns);
}

// Calls take(pairs) with blocks of all pairs of the rows of both sides.
template <class Take>
void for_all_pairs(std::int64_t side_rows, std::int64_t other_rows, const Take& take) {
  constexpr std::int64_t at_once = std::int64_t{1} << 18;
  const auto width = std::min(other_rows, at_once), height = std::max<std::int64_t>(1, at_once / width);
  const memory_claim claim(static_cast<std::size_t>(width * std::min(height, side_rows)) * 2 * sizeof(std::int64_t));
  for (std::int64_t row = 0; row < side_rows; row += height) {
    for (std::int64_t first = 0; first < other_rows; first += width) {
      check_cancelled();
      join_pairs block;
      for (auto l = row; l < std::min(row + height, side_rows); ++l) {
        for (auto r = first; r < std::min(first + width, other_rows); ++r) {
          block.left.push_back(l);
          block.right.push_back(r);
        }
      }
      take(std::move(block));
    }
  }
}

// A value of the other side between bounds of this side, either of which may be absent.
struct value_band {
  expr_ptr value, lo, hi;
  bool lo_inclusive = true, hi_inclusive = true;
};

using key_pairs = std::vector<std::pair<expr_ptr, expr_ptr>>;

// The conditions that decide which rows of a side are in a pair, by the way in which they are checked.
class reaching_search {
 public:
  reaching_search(rows_by_number asking, relation asked, const evaluation& values)
      : asking_(std::move(asking)),
        asked_(std::move(asked)),
        mine_(asking_.rows.ids.begin(), asking_.rows.ids.end()),
        theirs_(asked_.ids.begin(), asked_.ids.end()),
        values_(values) {}

  /// Adds a condition; they come in the order in which a join checks them. Behind one that may fail for a pair the
  /// order is kept.
  void add(const expr_ptr& condition) {
    if (asking_.rows.rows == 0 || asked_.rows == 0) return;
    if (!in_order_ && (checks_side(condition) || links(condition))) return;
    of_pairs_.push_back(condition);
    in_order_ |= !cannot_fail(condition);
  }

  [[nodiscard]] std::vector<std::int64_t> rows() && {
    if (asking_.rows.rows == 0 || asked_.rows == 0) return {};
    if (!keys_.empty() || band_.value) asking_.keep(rows_with_match());
    if (of_pairs_.empty()) return std::move(asking_.numbers);
    of_pairs_.insert(of_pairs_.begin(), of_band_.begin(), of_band_.end());
    return rows_by_value();
  }

 private:
  [[nodiscard]] bool succeeds(const expr_ptr& e, const relation& rows) const {
    return cannot_fail(e) || column_unless_it_fails(e, rows, values_);
  }

  // Checks a condition on one side once per row of it.
  bool checks_side(const expr_ptr& condition) {
    if (contains_all(mine_, condition)) {
      if (!succeeds(condition, asking_.rows)) return false;
      asking_.keep(passing_rows(condition, asking_.rows, values_));
      return true;
    }
    if (!contains_all(theirs_, condition) || !succeeds(condition, asked_)) return false;
    const auto passed = passing_rows(condition, asked_, values_);
    asked_ = take_rows(asked_, passed);
    asked_.rows = std::ssize(passed);
    return true;
  }

  // Takes a comparison of both sides as a key, or as a bound of the band, which has one value.
  bool links(const expr_ptr& condition) {
    if (!is_comparison(condition->kind) || condition->kind == op::not_equal) return false;
    const bool flipped = contains_all(mine_, condition->args[0]);
    const auto& value = condition->args[flipped ? 1 : 0];
    const auto& bound = condition->args[flipped ? 0 : 1];
    if (!contains_all(theirs_, value) || !contains_all(mine_, bound)) return false;
    if (!succeeds(value, asked_) || !succeeds(bound, asking_.rows)) return false;
    if (condition->kind == op::equal) {
      keys_.emplace_back(bound, value);
      return true;
    }
    if (value->type.id == type_id::varchar) return false;  // keys differ between columns
    const op kind = flipped ? mirrored(condition->kind) : condition->kind;
    const bool lower = kind == op::greater || kind == op::greater_equal;
    auto& end = lower ? band_.lo : band_.hi;
    if (end || (band_.value && !same(*band_.value, *value))) return false;
    band_.value = value;
    end = bound;
    (lower ? band_.lo_inclusive : band_.hi_inclusive) = kind == op::greater_equal || kind == op::less_equal;
    of_band_.push_back(condition);
    return true;
  }

  [[nodiscard]] std::vector<column_ptr> my_keys() const {
    std::vector<column_ptr> out;
    for (const auto& [mine, theirs] : keys_) out.push_back(values_.column(mine, asking_.rows));
    return out;
  }
  [[nodiscard]] std::vector<column_ptr> their_keys(const relation& rows) const {
    std::vector<column_ptr> out;
    for (const auto& [mine, theirs] : keys_) out.push_back(values_.column(theirs, rows));
    return out;
  }

  // The rows with a row of the other side that has equal keys and a value in the band. No pairs are made.
  [[nodiscard]] std::vector<std::int64_t> rows_with_match() const {
    const auto rows = static_cast<std::size_t>(asking_.rows.rows);
    const memory_claim claim(search_bytes(asking_.rows.rows + asked_.rows, keys_.size() + 2));
    std::vector<std::int64_t> out;
    const auto keep_where = [&](const auto& matches) {
      for_each_row(rows, [&](std::size_t row) {
        if (matches(row)) out.push_back(static_cast<std::int64_t>(row));
      });
    };
    if (!band_.value) {
      const key_table table(my_keys());  // of this side, which is a part of its rows
      std::vector<std::uint8_t> found(table.groups().count(), 0);
      for (const auto group : table.find(their_keys(asked_))) {
        if (group != no_group) found[group] = 1;
      }
      keep_where([&](std::size_t row) {
        const auto group = table.groups().group(row);
        return group != no_group && found[group] != 0;
      });
      return out;
    }
    const ordered_groups ordered(their_keys(asked_), values_.column(band_.value, asked_));
    const auto groups = ordered.groups_of(my_keys(), rows);
    const auto codes = [&](const expr_ptr& e) {
      return e ? ordered_codes(*values_.column(e, asking_.rows)) : sort_key_column{};
    };
    const auto lo = codes(band_.lo), hi = codes(band_.hi);
    std::vector<std::size_t> first(rows), last(rows);
    if (band_.lo) ordered.first_places(groups, lo, 0, !band_.lo_inclusive, first);
    if (band_.hi) ordered.first_places(groups, hi, 0, band_.hi_inclusive, last);
    keep_where([&](std::size_t row) {
      if (groups[row] == no_group || (band_.lo && lo.is_null(row)) || (band_.hi && hi.is_null(row))) return false;
      const auto begin = band_.lo ? first[row] : ordered.group_begin(groups[row]);
      return begin < (band_.hi ? last[row] : ordered.group_end(groups[row]));
    });
    return out;
  }

  // Rows whose columns are equal are in pairs with the same rows, so one of each side is checked for all of them.
  [[nodiscard]] std::vector<std::int64_t> rows_by_value() {
    std::set<column_id> read;
    for (const auto& condition : of_pairs_) collect_columns(condition, read);
    for (const auto& [mine, theirs] : keys_) {
      collect_columns(mine, read);
      collect_columns(theirs, read);
    }
    const memory_claim claim(search_bytes(asking_.rows.rows + asked_.rows, read.size()));
    const auto keep_first = [](relation& rows, const row_groups& groups) {
      rows = take_rows(rows, groups.first_row);
      rows.rows = static_cast<std::int64_t>(groups.count());
    };
    relation others = only(asked_, read);
    others.rows = asked_.rows;
    asked_ = std::move(others);
    if (!asked_.columns.empty()) {
      if (const auto groups = groups_of_equal_rows(asked_)) keep_first(asked_, *groups);
    }
    relation mine = only(asking_.rows, read);
    mine.rows = asking_.rows.rows;
    const auto groups = mine.columns.empty() ? std::nullopt : groups_of_equal_rows(mine);
    if (!groups) return rows_in_pairs();
    const auto numbers = std::move(asking_.numbers);
    keep_first(mine, *groups);
    asking_.rows = std::move(mine);
    asking_.numbers.resize(groups->count());
    std::iota(asking_.numbers.begin(), asking_.numbers.end(), 0);
    std::vector<std::uint8_t> reaches(groups->count(), 0);
    for (const auto group : rows_in_pairs()) reaches[static_cast<std::size_t>(group)] = 1;
    std::vector<std::int64_t> out;
    for (std::size_t row = 0; row < numbers.size(); ++row) {
      if (reaches[groups->group(row)] != 0) out.push_back(numbers[row]);
    }
    return out;
  }

  // The rows in a pair with equal keys that passes the other conditions. The other side is read in growing slices, and
  // a row that is in such a pair asks no further slice. Conditions that may fail have to see all pairs.
  [[nodiscard]] std::vector<std::int64_t> rows_in_pairs() {
    std::vector<std::int64_t> out;
    std::int64_t count = in_order_ ? asked_.rows : std::int64_t{1} << 10;
    for (std::int64_t first = 0; first < asked_.rows && asking_.rows.rows > 0; first += count, count *= 2) {
      const auto slice = slice_rows(asked_, first, std::min(count, asked_.rows - first));
      std::vector<std::uint8_t> reaches(asking_.numbers.size(), 0);
      const auto take = [&](join_pairs block) {
        keep_pairs_that_pass(of_pairs_, asking_.rows, slice, block, values_);
        for (const auto row : block.left) reaches[static_cast<std::size_t>(row)] = 1;
      };
      if (keys_.empty()) {
        for_all_pairs(asking_.rows.rows, slice.rows, take);
      } else {
        const memory_claim claim(search_bytes(asking_.rows.rows + slice.rows, keys_.size()));
        equal_pairs pairs(my_keys(), their_keys(slice), true);
        for (join_pairs block; pairs.next(block); block = {}) take(std::move(block));
      }
      std::vector<std::int64_t> others;
      for (std::size_t i = 0; i < reaches.size(); ++i) {
        if (reaches[i] != 0) {
          out.push_back(asking_.numbers[i]);
        } else {
          others.push_back(static_cast<std::int64_t>(i));
        }
      }
      asking_.keep(others);
    }
    std::ranges::sort(out);
    return out;
  }

  rows_by_number asking_;
  relation asked_;
  std::set<column_id> mine_, theirs_;
  const evaluation& values_;
  key_pairs keys_;  ///< of this side and the other
  value_band band_;
  std::vector<expr_ptr> of_band_, of_pairs_;
  bool in_order_ = false;
};

}  // namespace

column_ptr column_of_reaching(const expr_ptr& e, const relation& rows, const evaluation& values,
                              const reaching_rows& reaching) {
  if (cannot_fail(e)) return values.column(e, rows);
  if (auto all = column_unless_it_fails(e, rows, values)) return all;
  const auto read = read_columns(e, rows);
  if (auto all = column_unless_it_fails(null_where_a_divisor_is_zero(e), read, values)) {
    // NULL marks rows whose evaluation may fail, and also rows whose value is NULL: both are evaluated again.
    const memory_claim claim(static_cast<std::size_t>(all->null_count()) * 2 * sizeof(std::int64_t));
    const auto needed = reaching(null_rows(*all));
    relation some = take_rows(read, needed);
    some.rows = std::ssize(needed);
    (void)values.column(e, some);
    return all;
  }
  column_parts out(e);
  // reaching() may read the whole other side, so parts grow.
  std::int64_t at_once = std::int64_t{1} << 14;
  for (std::int64_t begin = 0, count = 0; begin < rows.rows; begin += count) {
    check_cancelled();
    count = std::min(at_once, rows.rows - begin);
    auto part = column_unless_it_fails(e, slice_rows(read, begin, count), values);
    if (!part) {
      part = part_of_reaching(e, read, begin, count, values, reaching);
      at_once = std::min(most_rows_of_a_part, at_once * 2);
    }
    out.add(*part);
  }
  return std::move(out).finish();
}

std::shared_ptr<arrow::Array> column_for_lookup(const expr_ptr& e, const std::vector<expr_ptr>& conditions,
                                                const relation& side, const std::function<relation()>& all_of_other,
                                                const evaluation& values) {
  return flat(column_of_reaching(e, side, values, [&](std::span<const std::int64_t> rows) {
    return rows_reaching(e, conditions, side, rows, all_of_other(), values);
  }));
}

column_ptr column_of_side(const expr_ptr& e, const std::vector<expr_ptr>& conditions, const relation& side,
                          const relation& other, const evaluation& values) {
  return column_of_reaching(e, side, values, [&](std::span<const std::int64_t> rows) {
    return rows_reaching(e, conditions, side, rows, other, values);
  });
}

column_ptr column_or_null(const expr_ptr& e, const relation& rows, const evaluation& values) {
  if (cannot_fail(e)) return values.column(e, rows);
  if (auto all = column_unless_it_fails(null_where_a_divisor_is_zero(e), rows, values)) return all;
  column_parts out(e);
  add_halves(e, read_columns(e, rows), 0, rows.rows, values, out);
  return std::move(out).finish();
}

std::vector<std::int64_t> rows_reaching(const expr_ptr& e, const std::vector<expr_ptr>& conditions,
                                        const relation& side, std::span<const std::int64_t> rows, const relation& other,
                                        const evaluation& values) {
  if (rows.empty() || other.rows == 0) return {};
  const auto before = conditions_before(e, conditions);
  if (before.empty()) return {rows.begin(), rows.end()};
  const memory_claim claim(rows.size() * 2 * sizeof(std::int64_t) +
                           static_cast<std::size_t>(other.rows) * sizeof(std::int64_t));
  std::set<column_id> read;
  for (const auto& condition : before) collect_columns(condition, read);
  rows_by_number asking{take_rows(only(side, read), rows), {rows.begin(), rows.end()}};
  asking.rows.rows = std::ssize(rows);
  reaching_search search(std::move(asking), only(other, read), values);
  for (const auto& condition : before) search.add(condition);
  return std::move(search).rows();
}

}  // namespace espalier::engine
