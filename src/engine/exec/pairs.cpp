#include "engine/exec/pairs.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <span>

#include "engine/exec/key_packer.hpp"
#include "engine/exec/word_matches.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

relation only(const relation& from, const std::set<column_id>& wanted) {
  relation out;
  out.rows = from.rows;
  for (std::size_t i = 0; i < from.ids.size(); ++i) {
    if (wanted.contains(from.ids[i])) out.add(from.ids[i], from.columns[i]);
  }
  return out;
}

std::vector<std::uint8_t> seen_rows(const std::vector<std::int64_t>& rows, std::int64_t count) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(count), 0);
  for_each_row(rows.size(), [&](std::size_t i) { out[static_cast<std::size_t>(rows[i])] = 1; });
  return out;
}

std::vector<std::int64_t> rows_where(const std::vector<std::uint8_t>& seen, std::uint8_t wanted) {
  std::vector<std::int64_t> out;
  for_each_row(seen.size(), [&](std::size_t i) {
    if (seen[i] == wanted) out.push_back(static_cast<std::int64_t>(i));
  });
  return out;
}

// Rows of the side that is looked up, ascending, and those of the side that the table is made of.
struct side_pairs {
  std::vector<std::int64_t> probe, built;
};

// Asks whether to stop once for so many rows and pairs together.
class pair_check {
 public:
  void operator()(std::size_t rows_and_pairs) {
    if (rows_and_pairs < next_) return;
    check_stop();
    next_ = rows_and_pairs + rows_between_checks;
  }

 private:
  std::size_t next_ = 0;
};

side_pairs pairs_of_groups(const grouped_rows& lists, const std::vector<std::uint32_t>& group_of) {
  side_pairs out;
  pair_check check;
  for (std::size_t row = 0; row < group_of.size(); ++row) {
    check(row + out.probe.size());
    if (group_of[row] == no_group) continue;
    for (auto i = lists.offsets[group_of[row]]; i < lists.offsets[group_of[row] + 1]; ++i) {
      out.probe.push_back(static_cast<std::int64_t>(row));
      out.built.push_back(lists.rows[i]);
    }
  }
  return out;
}

side_pairs pairs_of_matches(const row_matches& matches) {
  const auto rows = static_cast<std::int64_t>(matches.of_row.size());
  const auto lists = [&](std::int64_t begin, std::int64_t count) {
    return std::span(matches.of_row).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  };
  std::vector<std::size_t> offsets(batch_count(rows) + 1, 0);
  for_each_batch(rows, [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    for (const auto& list : lists(begin, count)) offsets[i + 1] += list.count;
  });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  side_pairs out;
  out.probe.resize(offsets.back());
  out.built.resize(offsets.back());
  for_each_batch(rows, [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    std::size_t to = offsets[i];
    pair_check check;
    for (const auto& list : lists(begin, count)) {
      check(to);
      std::fill_n(out.probe.begin() + static_cast<std::ptrdiff_t>(to), list.count, begin);
      if (list.count == 1) {
        out.built[to] = list.at;
      } else {
        std::copy_n(matches.rows.begin() + list.at, list.count, out.built.begin() + static_cast<std::ptrdiff_t>(to));
      }
      to += list.count;
      ++begin;
    }
  });
  return out;
}

// None where keys take more than a word.
std::optional<side_pairs> pairs_by_word(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& build,
                                        const std::vector<std::shared_ptr<arrow::ChunkedArray>>& probe) {
  const auto build_rows = static_cast<std::size_t>(build[0]->length());
  const auto probe_rows = static_cast<std::size_t>(probe[0]->length());
  std::vector<equality_coder> coders(build.size());
  std::vector<code_column> build_codes, probe_codes;
  for (std::size_t i = 0; i < build.size(); ++i) build_codes.push_back(coders[i].first(build[i]));
  const auto packer = key_packer::plan(pointers_to(build_codes), build_rows, false);
  if (!packer) return std::nullopt;
  for (std::size_t i = 0; i < probe.size(); ++i) probe_codes.push_back(coders[i].second(probe[i]));
  return pairs_of_matches(matched_rows(packer->pack(pointers_to(build_codes), build_rows),
                                       packer->pack(pointers_to(probe_codes), probe_rows)));
}

}  // namespace

void keep_pairs_that_pass(const std::vector<bound_ptr>& residual, const relation& left, const relation& right,
                          row_pairs& pairs, const evaluation& values) {
  if (residual.empty() || pairs.left.empty()) return;
  std::set<column_id> wanted;
  for (const auto& condition : residual) collect_columns(condition, wanted);
  relation both = beside(take_rows(only(left, wanted), pairs.left), take_rows(only(right, wanted), pairs.right));
  both.rows = static_cast<std::int64_t>(pairs.left.size());
  // A later condition sees only the pairs that passed those before it. No column of a statement has this number.
  constexpr auto pair_number = std::numeric_limits<column_id>::max();
  const auto passed = values.filter(residual, both, wanted, pair_number).column(pair_number);
  std::size_t kept = 0;
  for (const auto& chunk : passed->chunks()) {
    check_stop();  // a chunk is a batch
    const auto& numbers = static_cast<const arrow::Int64Array&>(*chunk);
    for (std::int64_t i = 0; i < numbers.length(); ++i) {
      const auto at = static_cast<std::size_t>(numbers.Value(i));
      pairs.left[kept] = pairs.left[at];
      pairs.right[kept++] = pairs.right[at];
    }
  }
  pairs.left.resize(kept);
  pairs.right.resize(kept);
}

relation finish_join(join_type type, const std::vector<output_column>& outputs, const std::vector<bound_ptr>& residual,
                     const relation& left, const relation& right, row_pairs pairs, const evaluation& values) {
  keep_pairs_that_pass(residual, left, right, pairs, values);
  std::set<column_id> wanted;
  for (const auto& output : outputs) wanted.insert(output.id);
  if (type == join_type::semi || type == join_type::anti) {
    const auto rows = rows_where(seen_rows(pairs.left, left.rows), type == join_type::semi ? 1 : 0);
    auto out = take_rows(only(left, wanted), rows);
    out.rows = static_cast<std::int64_t>(rows.size());
    return out;
  }
  if (type == join_type::inner) {
    auto out = beside(take_rows(only(left, wanted), pairs.left), take_rows(only(right, wanted), pairs.right));
    out.rows = static_cast<std::int64_t>(pairs.left.size());
    return out;
  }
  const auto lonely_right =
      type == join_type::full ? rows_where(seen_rows(pairs.right, right.rows), 0) : std::vector<std::int64_t>();
  for (const auto row : rows_where(seen_rows(pairs.left, left.rows), 0)) {
    pairs.left.push_back(row);
    pairs.right.push_back(null_row);
  }
  for (const auto row : lonely_right) {
    pairs.left.push_back(null_row);
    pairs.right.push_back(row);
  }
  auto out =
      beside(take_rows_or_null(only(left, wanted), pairs.left), take_rows_or_null(only(right, wanted), pairs.right));
  out.rows = static_cast<std::int64_t>(pairs.left.size());
  return out;
}

row_pairs equal_pairs(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& left,
                      const std::vector<std::shared_ptr<arrow::ChunkedArray>>& right, bool build_left) {
  const auto& build = build_left ? left : right;
  const auto& probe = build_left ? right : left;
  check_row_numbers(static_cast<std::size_t>(build.at(0)->length()));
  check_row_numbers(static_cast<std::size_t>(probe.at(0)->length()));
  if (auto pairs = pairs_by_word(build, probe)) {
    return build_left ? row_pairs{std::move(pairs->built), std::move(pairs->probe)}
                      : row_pairs{std::move(pairs->probe), std::move(pairs->built)};
  }
  const key_table table(build);
  auto pairs = pairs_of_groups(rows_by_group(table.groups()), table.find(probe));
  return build_left ? row_pairs{std::move(pairs.built), std::move(pairs.probe)}
                    : row_pairs{std::move(pairs.probe), std::move(pairs.built)};
}

}  // namespace espalier::engine
