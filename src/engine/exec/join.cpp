#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "engine/catalog.hpp"
#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/exec/fallible_column.hpp"
#include "engine/exec/join_output.hpp"
#include "engine/exec/join_pairs.hpp"
#include "engine/exec/overlapping_rows.hpp"
#include "engine/exec/piece_list.hpp"
#include "engine/expr/failing.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/keys/ordered_groups.hpp"
#include "engine/memory_budget.hpp"
#include "engine/parallel.hpp"
#include "engine/plan/visit.hpp"
#include "engine/stop.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

using join_keys = std::vector<std::shared_ptr<arrow::ChunkedArray>>;

// Returns the values of an expression of one side for a join with the rows of the other.
class side_columns {
 public:
  side_columns(const join_node& n, const relation& left, const relation& right, const evaluation& values)
      : n_(n), left_(left), right_(right), values_(values) {}

  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> column(const expr_ptr& e, bool of_left) const {
    const auto& side = of_left ? left_ : right_;
    const auto& other = of_left ? right_ : left_;
    return column_of_side(e, n_.conditions, side, other, values_);
  }
  [[nodiscard]] join_keys keys(bool of_left) const {
    join_keys out;
    for (const auto& [left, right] : n_.equal) out.push_back(column(of_left ? left : right, of_left));
    return out;
  }

 private:
  const join_node& n_;
  const relation& left_;
  const relation& right_;
  const evaluation& values_;
};

// Returns pairs of the left rows from `first` on with the rows that the index found for them. The found rows are
// numbered consecutively.
join_pairs pairs_of_lists(const row_lists& found, std::int64_t first) {
  join_pairs out;
  out.left.reserve(found.rows.size());
  out.right.resize(found.rows.size());
  std::iota(out.right.begin(), out.right.end(), 0);
  for_each_row(found.offsets.size() - 1, [&](std::size_t i) {
    out.left.insert(out.left.end(), found.offsets[i + 1] - found.offsets[i], first + static_cast<std::int64_t>(i));
  });
  return out;
}

// Both sides are in key order; runs of equal keys are joined.
class merged_pairs {
 public:
  merged_pairs(sort_key_column left, sort_key_column right) : left_(std::move(left)), right_(std::move(right)) {}

  // Produces the next pairs, about pairs_at_once. Returns false if there are no more.
  bool next(join_pairs& block) {
    std::size_t next_check = 0;
    while (l_ < left_.words.size() && r_ < right_.words.size() && block.left.size() < pairs_at_once) {
      if (l_ + r_ + block.left.size() >= next_check) {
        check_cancelled();
        next_check = l_ + r_ + block.left.size() + rows_between_checks;
      }
      if (left_.is_null(l_) || right_.is_null(r_)) break;  // NULLs are last
      if (below(left_, l_, right_, r_)) {
        ++l_;
      } else if (below(right_, r_, left_, l_)) {
        ++r_;
      } else {
        std::size_t end = r_;
        while (end < right_.words.size() && !right_.is_null(end) && !below(left_, l_, right_, end)) ++end;
        for (std::size_t i = r_; i < end; ++i) {
          block.left.push_back(static_cast<std::int64_t>(l_));
          block.right.push_back(static_cast<std::int64_t>(i));
        }
        ++l_;
      }
    }
    return !block.left.empty();
  }

 private:
  static bool below(const sort_key_column& a, std::size_t i, const sort_key_column& b, std::size_t j) {
    if (!a.high.empty() && a.high[i] != b.high[j]) return a.high[i] < b.high[j];
    return a.words[i] < b.words[j];
  }

  sort_key_column left_, right_;
  std::size_t l_ = 0, r_ = 0;
};

// One bound of the bands of all rows: its values, or nothing if the bands have no such bound.
struct band_end {
  const sort_key_column* codes;
  bool above;  ///< the bound is the position after equal values
};

// The positions [begin, end) of each row's band.
struct row_bands {
  std::vector<std::size_t> begin, end;
};

constexpr std::size_t bands_at_once = 4096;

row_bands bands_of(const ordered_groups& ordered, const std::vector<std::uint32_t>& groups, band_end lo, band_end hi) {
  row_bands out{std::vector<std::size_t>(groups.size(), 0), std::vector<std::size_t>(groups.size(), 0)};
  const auto find = [&](std::size_t begin, std::size_t end) {
    const auto search = [&](const band_end& of, std::vector<std::size_t>& places) {
      if (of.codes == nullptr) return;
      ordered.first_places(groups, *of.codes, begin, of.above, std::span(places).subspan(begin, end - begin));
    };
    search(lo, out.begin);
    search(hi, out.end);
    for (std::size_t row = begin; row < end; ++row) {
      const bool null = (lo.codes && lo.codes->is_null(row)) || (hi.codes && hi.codes->is_null(row));
      if (groups[row] == no_group || null) {
        out.begin[row] = out.end[row] = 0;
        continue;
      }
      if (!lo.codes) out.begin[row] = ordered.group_begin(groups[row]);
      if (!hi.codes) out.end[row] = ordered.group_end(groups[row]);
      out.end[row] = std::max(out.begin[row], out.end[row]);
    }
  };
  parallel_pieces(groups.size(), find, bands_at_once);
  return out;
}

// Computes the bands of the rows [first, last).
void write_bands(const row_bands& bands, std::size_t first, std::size_t last, const ordered_groups& ordered,
                 std::vector<std::int64_t>& band_rows, std::vector<std::int64_t>& value_rows) {
  std::vector<std::size_t> offsets(last - first + 1, 0);
  for (std::size_t row = first; row < last; ++row) {
    offsets[row - first + 1] = offsets[row - first] + (bands.end[row] - bands.begin[row]);
  }
  band_rows.resize(offsets.back());
  value_rows.resize(offsets.back());
  const auto write = [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = first + begin; row < first + end; ++row) {
      std::size_t to = offsets[row - first];
      for (auto place = bands.begin[row]; place < bands.end[row]; ++place, ++to) {
        band_rows[to] = static_cast<std::int64_t>(row);
        value_rows[to] = ordered.row_at(place);
      }
    }
  };
  parallel_pieces(last - first, write, bands_at_once);
}

// Returns the index query, with one range per row; column(e) returns the values of an expression.
template <class Column>
key_ranges shape_of_rows(const index_range& range, const Column& column) {
  key_ranges out;
  const auto keys = [&](const expr_ptr& e) { return e ? flat(column(e)) : nullptr; };
  for (const auto& e : range.equal) out.equal.push_back(keys(e));
  out.condition = range.condition;
  out.lo = keys(range.lo);
  out.hi = keys(range.hi);
  out.lo_inclusive = range.lo_inclusive;
  out.hi_inclusive = range.hi_inclusive;
  return out;
}

// Returns the cross product of the rows [first, last) and the other side.
join_pairs all_pairs(std::int64_t first, std::int64_t last, std::int64_t others) {
  join_pairs out;
  out.left.reserve(static_cast<std::size_t>((last - first) * others));
  out.right.reserve(static_cast<std::size_t>((last - first) * others));
  for (std::int64_t l = first; l < last; ++l) {
    for (std::int64_t r = 0; r < others; ++r) {
      out.left.push_back(l);
      out.right.push_back(r);
    }
  }
  return out;
}

}  // namespace

void executor::join(join_node& n, const row_sink& take) {
  switch (n.method) {
    case join_method::hash:
      return hash_join(n, take);
    case join_method::index_lookup:
    case join_method::band_index:
      return lookup_join(n, take);
    case join_method::index_merge:
      return merge_join(n, take);
    case join_method::band_sort:
      return band_join(n, take);
    case join_method::overlap:
      return overlap_join(n, take);
    case join_method::loop:
      return loop_join(n, take);
  }
}

relation executor::left_of(join_node& n) {
  auto left = node(*n.inputs[0]);
  if (n.filters.empty()) return left;
  // Conditions on left columns alone are checked with the pairs; a row that fails them asks for nothing.
  std::set<column_id> mine(left.ids.begin(), left.ids.end());
  std::vector<expr_ptr> conditions;
  for (const auto& condition : harmless_first(n.residual)) {
    if (contains_all(mine, condition)) conditions.push_back(condition);
  }
  const auto asking = conditions.empty() ? left : values_.filter(conditions, left);
  for (const auto& link : n.filters) {
    join_keys keys;
    for (const auto& e : link.keys) keys.push_back(column_or_null(e, asking, values_));
    filter_keys_[link.filter] = std::make_shared<key_table>(keys);
  }
  return left;
}

relation executor::key_filter(key_filter_node& n) {
  if (filter_keys_.at(n.number)->groups().count() == 0) {  // no left row asks, so nothing below may fail
    relation none;
    for (const auto& output : n.outputs)
      none.add(output.id, chunked(value_of(arrow::MakeEmptyArray(arrow_type(output.type)))));
    return none;
  }
  auto input = node(*n.inputs[0]);
  join_keys keys;
  for (const auto& e : n.keys) keys.push_back(column_or_null(e, input, values_));
  const auto groups = filter_keys_.at(n.number)->find(keys);
  std::vector<std::int64_t> rows;
  for_each_row(groups.size(), [&](std::size_t row) {
    if (groups[row] != no_group) rows.push_back(static_cast<std::int64_t>(row));
  });
  if (static_cast<std::int64_t>(rows.size()) == input.rows) return input;
  auto out = take_rows(input, rows);
  out.rows = static_cast<std::int64_t>(rows.size());
  return out;
}

void executor::hash_join(join_node& n, const row_sink& take) {
  // A left side that is a join may have far more rows than pass this one, so it is consumed in blocks. A block has at
  // least as many rows as the right side, so that rebuilding the right side's table is amortized.
  const bool left_first = n.build_left || reduces_aggregate(n) || !n.filters.empty();
  if (n.type == join_type::full || left_first || !comes_in_pieces(*n.inputs[0])) {
    const auto left = left_of(n);
    (void)hash_join_rows(n, left, reduces_aggregate(n) ? reduced_aggregate(n, left) : node(*n.inputs[1]), take);
    return;
  }
  const auto right = node(*n.inputs[1]);
  const auto enough = std::max(right.rows, static_cast<std::int64_t>(pairs_at_once));
  piece_list waiting;
  bool wants_more = true, joined_any = false;
  stream(*n.inputs[0], [&](relation piece) {
    waiting.add(std::move(piece));
    if (waiting.rows() < enough) return true;
    joined_any = true;
    wants_more = hash_join_rows(n, waiting.take(), right, take);
    return wants_more;
  });
  if (wants_more && (waiting.rows() > 0 || !joined_any)) (void)hash_join_rows(n, waiting.take(), right, take);
}

bool executor::hash_join_rows(join_node& n, const relation& left, const relation& right, const row_sink& take) {
  // The claim covers normalized keys, packed keys, the table and the match lists.
  const memory_claim claim(static_cast<std::size_t>(left.rows + right.rows) * (16 + 16 * n.equal.size()));
  const side_columns of(n, left, right, values_);
  equal_pairs pairs(of.keys(true), of.keys(false), n.build_left);
  join_output out(n, left, values_, take);
  if (out.can_count()) {
    out.count(pairs.count());
  } else {
    for (join_pairs block; out.wants_more() && pairs.next(block); block = {}) {
      n.statistics.bytes += block.left.size() * 2 * sizeof(std::int64_t);
      out.add(std::move(block), right);
    }
  }
  out.finish(right);
  return out.wants_more();
}

void executor::loop_join(join_node& n, const row_sink& take) {
  const auto left = left_of(n);
  const auto right = node(*n.inputs[1]);
  join_output out(n, left, values_, take);
  if (out.can_count()) {
    std::int64_t pairs = 0;
    if (__builtin_mul_overflow(left.rows, right.rows, &pairs)) {
      throw_sql_error(n.residual.empty() ? -1 : n.residual[0]->position, "This join has more than 2^63 pairs of rows.");
    }
    out.count(static_cast<std::size_t>(pairs));
    return out.finish(right);
  }
  const auto at_once =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(pairs_at_once) / std::max<std::int64_t>(1, right.rows));
  for (std::int64_t first = 0; first < left.rows && out.wants_more(); first += at_once) {
    out.add(all_pairs(first, std::min(first + at_once, left.rows), right.rows), right);
  }
  out.finish(right);
}

// The right side is a plain scan with an index. The index is probed for many left rows at once, and for fewer if each
// of them finds many rows. The conditions of that scan are among the residual ones.
void executor::lookup_join(join_node& n, const row_sink& take) {
  const auto left = node(*n.inputs[0]);
  auto& scan = static_cast<scan_node&>(*n.inputs[1]);
  const auto& range = *n.lookup;
  scan.statistics.ran = true;
  join_output out(n, left, values_, take);
  auto right = fetched(scan, {});
  std::optional<relation> all;  // read only where an expression fails
  constexpr std::int64_t fewest = std::int64_t{1} << 12, most = std::int64_t{1} << 20;
  std::int64_t at_once = std::int64_t{1} << 16;
  for (std::int64_t first = 0, count = 0; first < left.rows && out.wants_more(); first += count) {
    count = std::min(at_once, left.rows - first);
    key_ranges shape;
    const auto asking = slice_rows(left, first, count);
    const auto column = [&](const expr_ptr& e) {
      return column_of_reaching(e, asking, values_, [&](std::span<const std::int64_t> rows) {
        auto conditions = scan.conditions;
        conditions.insert(conditions.end(), n.conditions.begin(), n.conditions.end());
        if (!all) all = fetched(scan, range.index->ordered_rows(key_order::ascending));
        return rows_reaching(e, conditions, asking, rows, *all, values_);
      });
    };
    try {
      shape = shape_of_rows(range, column);
    } catch (const text_overflow&) {
      if (count == 1) throw;
      at_once = count / 2;
      count = 0;
      continue;
    }
    const auto found = range.condition == key_condition::anything ? range.index->find(shape.equal)
                                                                  : range.index->rows(range.index->ranges(shape));
    scan.statistics.rows += found.rows.size();
    if (out.can_count()) {
      out.count(found.rows.size());
    } else {
      right = fetched(scan, found.rows);
      out.add(pairs_of_lists(found, first), right);
    }
    at_once = found.rows.size() > pairs_at_once ? std::max(fewest, at_once / 4) : std::min(most, at_once * 4);
  }
  out.finish(right);
}

void executor::merge_join(join_node& n, const row_sink& take) {
  const auto ordered = [&](plan_node& input, const table_index& index) {
    auto& scan = static_cast<scan_node&>(input);
    auto out = fetched(scan, index.ordered_rows(key_order::ascending));
    scan.statistics.ran = true;
    scan.statistics.rows += static_cast<std::uint64_t>(out.rows);
    return out;
  };
  const auto left = ordered(*n.inputs[0], *n.left_index);
  const auto right = ordered(*n.inputs[1], *n.right_index);
  merged_pairs pairs(ordered_codes(*values_.column(n.equal[0].first, left)),
                     ordered_codes(*values_.column(n.equal[0].second, right)));
  join_output out(n, left, values_, take);
  for (join_pairs block; out.wants_more() && pairs.next(block); block = {}) out.add(std::move(block), right);
  out.finish(right);
}

// The side of the value is sorted; two searches per row of the other side give its band.
void executor::band_join(join_node& n, const row_sink& take) {
  const auto left = left_of(n);
  const auto right = node(*n.inputs[1]);
  const bool value_right = n.band_value_is_right;
  const auto& band_side = value_right ? left : right;
  const side_columns of(n, left, right, values_);
  const auto band_keys = of.keys(value_right);
  const ordered_groups ordered(of.keys(!value_right), of.column(n.band_value, !value_right));
  const auto rows = static_cast<std::size_t>(band_side.rows);
  const auto groups = ordered.groups_of(band_keys, rows);
  const auto codes = [&](const expr_ptr& e) {
    return e ? ordered_codes(*of.column(e, value_right)) : sort_key_column{};
  };
  const auto lo = codes(n.band_lo);
  const auto hi = codes(n.band_hi);
  const auto bands = bands_of(ordered, groups, {n.band_lo ? &lo : nullptr, !n.band_lo_inclusive},
                              {n.band_hi ? &hi : nullptr, n.band_hi_inclusive});
  join_output out(n, left, values_, take);
  for (std::size_t first = 0, last = 0; first < rows && out.wants_more(); first = last) {
    std::size_t found = 0;
    while (last < rows && found < pairs_at_once) {
      found += bands.end[last] - bands.begin[last];
      ++last;
    }
    if (out.can_count()) {
      out.count(found);
      continue;
    }
    join_pairs block;
    write_bands(bands, first, last, ordered, value_right ? block.left : block.right,
                value_right ? block.right : block.left);
    out.add(std::move(block), right);
  }
  out.finish(right);
}

void executor::overlap_join(join_node& n, const row_sink& take) {
  using role = overlap_condition::role;
  const auto left = left_of(n);
  const auto right = node(*n.inputs[1]);
  const side_columns of(n, left, right, values_);
  // Words, rows, finishes and maxima of the right side in two orders; words, groups, places and counts of the left
  // side.
  const memory_claim claim(static_cast<std::size_t>(right.rows) * 80 + static_cast<std::size_t>(left.rows) * 48);
  span_columns mine{of.keys(true), nullptr, nullptr}, theirs{of.keys(false), nullptr, nullptr};
  for (const role end : n.overlap->order) {
    const bool is_left = end == role::left_start || end == role::left_finish;
    auto& side = is_left ? mine : theirs;
    auto& column = end == role::left_start || end == role::right_start ? side.start : side.finish;
    column = of.column(n.overlap->ends[end], is_left);
  }
  const bool marks_left = n.type == join_type::semi || n.type == join_type::anti;
  overlapping_rows pairs(mine, theirs, {n.overlap->start_inclusive, n.overlap->finish_inclusive},
                         marks_left && n.residual.empty() ? overlap_use::first_pairs : overlap_use::pairs);
  join_output out(n, left, values_, take);
  if (out.can_count()) {
    out.count(pairs.count());
  } else {
    for (join_pairs block; out.wants_more() && pairs.next(block); block = {}) {
      n.statistics.bytes += block.left.size() * 2 * sizeof(std::int64_t);
      out.add(std::move(block), right);
    }
  }
  out.finish(right);
}

}  // namespace espalier::engine
