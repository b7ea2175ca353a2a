#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "engine/catalog.hpp"
#include "engine/exec/executor.hpp"
#include "engine/exec/ordered_groups.hpp"
#include "engine/exec/pairs.hpp"
#include "engine/parallel.hpp"
#include "engine/sql/error.hpp"
#include "engine/stop.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

using join_keys = std::vector<std::shared_ptr<arrow::ChunkedArray>>;

join_keys left_keys(const std::vector<std::pair<bound_ptr, bound_ptr>>& equal, const relation& rows,
                    const evaluation& values) {
  join_keys out;
  for (const auto& [left, right] : equal) out.push_back(values.column(left, rows));
  return out;
}

join_keys right_keys(const std::vector<std::pair<bound_ptr, bound_ptr>>& equal, const relation& rows,
                     const evaluation& values) {
  join_keys out;
  for (const auto& [left, right] : equal) out.push_back(values.column(right, rows));
  return out;
}

// Left rows, each as often as the index found rows for it; the found rows are numbered as they come.
row_pairs pairs_of_lists(const row_lists& found) {
  row_pairs out;
  out.left.reserve(found.rows.size());
  out.right.resize(found.rows.size());
  std::iota(out.right.begin(), out.right.end(), 0);
  for_each_row(found.offsets.size() - 1, [&](std::size_t i) {
    out.left.insert(out.left.end(), found.offsets[i + 1] - found.offsets[i], static_cast<std::int64_t>(i));
  });
  return out;
}

// Both sides in key order: runs of equal keys meet.
row_pairs merged_pairs(const code_column& left, const code_column& right) {
  row_pairs out;
  const auto below = [](const code_column& a, std::size_t i, const code_column& b, std::size_t j) {
    if (!a.high.empty() && a.high[i] != b.high[j]) return a.high[i] < b.high[j];
    return a.words[i] < b.words[j];
  };
  std::size_t l = 0, r = 0, next_check = 0;
  while (l < left.words.size() && r < right.words.size()) {
    if (l + r + out.left.size() >= next_check) {
      check_stop();
      next_check = l + r + out.left.size() + rows_between_checks;
    }
    if (left.is_null(l) || right.is_null(r)) break;  // NULLs are last
    if (below(left, l, right, r)) {
      ++l;
    } else if (below(right, r, left, l)) {
      ++r;
    } else {
      std::size_t end = r;
      while (end < right.words.size() && !right.is_null(end) && !below(left, l, right, end)) ++end;
      for (std::size_t i = r; i < end; ++i) {
        out.left.push_back(static_cast<std::int64_t>(l));
        out.right.push_back(static_cast<std::int64_t>(i));
      }
      ++l;
    }
  }
  return out;
}

// One end of the bands of all rows: values, or nothing for bands without this end.
struct band_end {
  const code_column* codes;
  bool above;  ///< the place behind values that are equal
};

// Places [begin, end) of each row.
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

// Bands of the rows [first, last).
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

constexpr std::size_t pairs_at_once = std::size_t{1} << 22;

// Pairs come in blocks of about pairs_at_once; what is kept of them is what the answer needs.
class passing_pairs {
 public:
  passing_pairs(const join_node& n, const relation& left, const relation& right, const evaluation& values)
      : n_(n), left_(left), right_(right), values_(values) {}

  // Whoever wants neither columns nor conditions needs no pairs.
  bool can_count() const { return is_counted() && n_.residual.empty(); }
  void count(std::size_t pairs) { counted_ += pairs; }

  void add(row_pairs block) {
    check_stop();
    keep_pairs_that_pass(n_.residual, left_, right_, block, values_);
    if (is_counted()) return count(block.left.size());
    const bool any_is_enough = n_.type == join_type::semi || n_.type == join_type::anti;
    for (std::size_t i = 0; i < block.left.size(); ++i) {
      if (any_is_enough && !pairs_.left.empty() && pairs_.left.back() == block.left[i]) continue;
      pairs_.left.push_back(block.left[i]);
      pairs_.right.push_back(block.right[i]);
    }
  }

  relation finish() {
    if (!is_counted()) return finish_join(n_.type, n_.outputs, {}, left_, right_, std::move(pairs_), values_);
    relation out;
    out.rows = static_cast<std::int64_t>(counted_);
    return out;
  }

 private:
  bool is_counted() const { return n_.type == join_type::inner && n_.outputs.empty(); }

  const join_node& n_;
  const relation& left_;
  const relation& right_;
  const evaluation& values_;
  row_pairs pairs_;
  std::size_t counted_ = 0;
};

// Every row of [first, last) with each of the other side.
row_pairs all_pairs(std::int64_t first, std::int64_t last, std::int64_t others) {
  row_pairs out;
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

relation executor::join(join_node& n) {
  switch (n.method) {
    case join_method::hash:
      return hash_join(n);
    case join_method::index_lookup:
    case join_method::band_index:
      return lookup_join(n);
    case join_method::index_merge:
      return merge_join(n);
    case join_method::band_sort:
      return band_join(n);
    case join_method::loop:
      return loop_join(n);
  }
  return {};
}

relation executor::hash_join(join_node& n) {
  const auto left = node(*n.inputs[0]);
  const auto right = node(*n.inputs[1]);
  auto pairs = equal_pairs(left_keys(n.equal, left, values_), right_keys(n.equal, right, values_), n.build_left);
  n.statistics.bytes += pairs.left.size() * 2 * sizeof(std::int64_t);
  return finish_join(n.type, n.outputs, n.residual, left, right, std::move(pairs), values_);
}

relation executor::loop_join(join_node& n) {
  const auto left = node(*n.inputs[0]);
  const auto right = node(*n.inputs[1]);
  constexpr std::int64_t most_pairs = std::int64_t{1} << 28;
  if (right.rows > 0 && left.rows > most_pairs / right.rows) {
    refuse(codes::program_limit_exceeded, n.residual.empty() ? -1 : n.residual[0]->position,
           "This join would compare more than 268 million pairs of rows; give it an equality, a range or fewer rows.");
  }
  passing_pairs passing(n, left, right, values_);
  if (passing.can_count()) {
    passing.count(static_cast<std::size_t>(left.rows * right.rows));
    return passing.finish();
  }
  const auto at_once =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(pairs_at_once) / std::max<std::int64_t>(1, right.rows));
  for (std::int64_t first = 0; first < left.rows; first += at_once) {
    passing.add(all_pairs(first, std::min(first + at_once, left.rows), right.rows));
  }
  return passing.finish();
}

// The right side is a plain scan with an index: asked once, for all rows of the left side. Conditions of that scan are
// among the residual ones.
relation executor::lookup_join(join_node& n) {
  const auto left = node(*n.inputs[0]);
  auto& scan = static_cast<scan_node&>(*n.inputs[1]);
  const auto& range = *n.lookup;
  key_ranges shape;
  const auto keys = [&](const bound_ptr& e) { return e ? flat(values_.column(e, left)) : nullptr; };
  for (const auto& e : range.equal) shape.equal.push_back(keys(e));
  shape.condition = range.condition;
  shape.lo = keys(range.lo);
  shape.hi = keys(range.hi);
  shape.lo_inclusive = range.lo_inclusive;
  shape.hi_inclusive = range.hi_inclusive;
  row_lists found;
  if (left.rows == 0) {
    found.offsets = {0};
  } else if (range.condition == key_condition::anything) {
    found = range.index->find(shape.equal);
  } else {
    found = range.index->rows(range.index->ranges(shape));
  }
  const auto right = fetched(scan, found.rows);
  scan.statistics.ran = true;
  scan.statistics.rows += found.rows.size();
  auto pairs = pairs_of_lists(found);
  return finish_join(n.type, n.outputs, n.residual, left, right, std::move(pairs), values_);
}

relation executor::merge_join(join_node& n) {
  const auto ordered = [&](plan_node& input, const table_index& index) {
    auto& scan = static_cast<scan_node&>(input);
    auto out = fetched(scan, index.ordered_rows(key_order::ascending));
    scan.statistics.ran = true;
    scan.statistics.rows += static_cast<std::uint64_t>(out.rows);
    return out;
  };
  const auto left = ordered(*n.inputs[0], *n.left_index);
  const auto right = ordered(*n.inputs[1], *n.right_index);
  auto pairs = merged_pairs(ordered_codes(*values_.column(n.equal[0].first, left)),
                            ordered_codes(*values_.column(n.equal[0].second, right)));
  return finish_join(n.type, n.outputs, n.residual, left, right, std::move(pairs), values_);
}

// The side of the value is sorted; for each row of the other side two searches give its band.
relation executor::band_join(join_node& n) {
  const auto left = node(*n.inputs[0]);
  const auto right = node(*n.inputs[1]);
  const bool value_right = n.band_value_is_right;
  const auto& value_side = value_right ? right : left;
  const auto& band_side = value_right ? left : right;
  const auto value_keys = value_right ? right_keys(n.equal, right, values_) : left_keys(n.equal, left, values_);
  const auto band_keys = value_right ? left_keys(n.equal, left, values_) : right_keys(n.equal, right, values_);
  const ordered_groups ordered(value_keys, values_.column(n.band_value, value_side));
  const auto rows = static_cast<std::size_t>(band_side.rows);
  const auto groups = ordered.groups_of(band_keys, rows);
  const auto codes = [&](const bound_ptr& e) {
    return e ? ordered_codes(*values_.column(e, band_side)) : code_column{};
  };
  const auto lo = codes(n.band_lo);
  const auto hi = codes(n.band_hi);
  const auto bands = bands_of(ordered, groups, {n.band_lo ? &lo : nullptr, !n.band_lo_inclusive},
                              {n.band_hi ? &hi : nullptr, n.band_hi_inclusive});
  passing_pairs passing(n, left, right, values_);
  for (std::size_t first = 0, last = 0; first < rows; first = last) {
    std::size_t found = 0;
    while (last < rows && found < pairs_at_once) {
      found += bands.end[last] - bands.begin[last];
      ++last;
    }
    if (passing.can_count()) {
      passing.count(found);
      continue;
    }
    row_pairs block;
    write_bands(bands, first, last, ordered, value_right ? block.left : block.right,
                value_right ? block.right : block.left);
    passing.add(std::move(block));
  }
  return passing.finish();
}

}  // namespace espalier::engine
