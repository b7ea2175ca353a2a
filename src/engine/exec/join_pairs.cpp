#include "engine/exec/join_pairs.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "engine/keys/hash_join_probe.hpp"
#include "engine/keys/key_packer.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

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

}  // namespace

relation only(const relation& from, const std::set<column_id>& wanted) {
  relation out;
  out.rows = from.rows;
  for (std::size_t i = 0; i < from.ids.size(); ++i) {
    if (wanted.contains(from.ids[i])) out.add(from.ids[i], from.columns[i]);
  }
  return out;
}

void keep_pairs_that_pass(const std::vector<expr_ptr>& residual, const relation& left, const relation& right,
                          join_pairs& pairs, const evaluation& values) {
  if (residual.empty() || pairs.left.empty()) return;
  std::set<column_id> wanted;
  for (const auto& condition : residual) collect_columns(condition, wanted);
  relation both = beside(take_rows(only(left, wanted), pairs.left), take_rows(only(right, wanted), pairs.right));
  both.rows = static_cast<std::int64_t>(pairs.left.size());
  // A later condition sees only the pairs that passed the preceding ones. No column of a statement has this id.
  constexpr auto pair_number = std::numeric_limits<column_id>::max();
  const auto passed = values.filter(residual, both, wanted, pair_number).column(pair_number);
  std::size_t kept = 0;
  for (const auto& chunk : passed->chunks()) {
    check_cancelled();  // one chunk per batch
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

relation finish_join(join_type type, const std::vector<output_column>& outputs, const std::vector<expr_ptr>& residual,
                     const relation& left, const relation& right, join_pairs pairs, const evaluation& values) {
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
  const auto unmatched_right =
      type == join_type::full ? rows_where(seen_rows(pairs.right, right.rows), 0) : std::vector<std::int64_t>();
  for (const auto row : rows_where(seen_rows(pairs.left, left.rows), 0)) {
    pairs.left.push_back(row);
    pairs.right.push_back(null_row);
  }
  for (const auto row : unmatched_right) {
    pairs.left.push_back(null_row);
    pairs.right.push_back(row);
  }
  auto out =
      beside(take_rows_or_null(only(left, wanted), pairs.left), take_rows_or_null(only(right, wanted), pairs.right));
  out.rows = static_cast<std::int64_t>(pairs.left.size());
  return out;
}

// Match lists per row if the keys fit a word, otherwise groups with the rows of each group.
struct equal_pairs::parts {
  bool build_left = false;
  std::optional<row_matches> matches;
  grouped_rows lists;
  std::vector<std::uint32_t> group_of;
  std::size_t next = 0;   ///< next row of the probe side
  std::size_t total = 0;  ///< number of pairs

  [[nodiscard]] std::size_t rows() const { return matches ? matches->of_row.size() : group_of.size(); }
  [[nodiscard]] std::size_t matches_of(std::size_t row) const {
    if (matches) return matches->of_row[row].count;
    const auto group = group_of[row];
    return group == no_group ? 0 : lists.offsets[group + 1] - lists.offsets[group];
  }
  void write(std::size_t row, std::int64_t* to) const {
    if (!matches) {
      const auto* const first = lists.rows.data() + lists.offsets[group_of[row]];
      std::copy_n(first, matches_of(row), to);
      return;
    }
    const auto& list = matches->of_row[row];
    if (list.count == 1) {
      *to = list.at;
    } else {
      std::copy_n(matches->rows.begin() + list.at, list.count, to);
    }
  }
};

namespace {

// Returns nothing if the keys do not fit a word.
std::optional<row_matches> matches_by_word(const equal_pairs::keys& build, const equal_pairs::keys& probe) {
  const auto build_rows = static_cast<std::size_t>(build[0]->length());
  const auto probe_rows = static_cast<std::size_t>(probe[0]->length());
  std::vector<equality_coder> coders(build.size());
  std::vector<sort_key_column> build_codes, probe_codes;
  for (std::size_t i = 0; i < build.size(); ++i) build_codes.push_back(coders[i].first(build[i]));
  const auto packer = key_packer::plan(pointers_to(build_codes), build_rows, false);
  if (!packer) return std::nullopt;
  for (std::size_t i = 0; i < probe.size(); ++i) probe_codes.push_back(coders[i].second(probe[i]));
  return matched_rows(packer->pack(pointers_to(build_codes), build_rows),
                      packer->pack(pointers_to(probe_codes), probe_rows));
}

}  // namespace

equal_pairs::equal_pairs(const keys& left, const keys& right, bool build_left) : parts_(std::make_unique<parts>()) {
  const auto& build = build_left ? left : right;
  const auto& probe = build_left ? right : left;
  check_row_numbers(static_cast<std::size_t>(build.at(0)->length()));
  check_row_numbers(static_cast<std::size_t>(probe.at(0)->length()));
  parts_->build_left = build_left;
  parts_->matches = matches_by_word(build, probe);
  if (!parts_->matches) {
    const key_table table(build);
    parts_->lists = rows_by_group(table.groups());
    parts_->group_of = table.find(probe);
  }
  for_each_row(parts_->rows(), [&](std::size_t row) { parts_->total += parts_->matches_of(row); });
}

equal_pairs::~equal_pairs() = default;

std::size_t equal_pairs::count() const { return parts_->total; }

bool equal_pairs::next(join_pairs& block) {
  auto& of = *parts_;
  const std::size_t first = of.next;
  if (first == of.rows()) return false;
  // Offsets per piece of rows, so that pieces are written in parallel.
  constexpr std::size_t rows_of_a_piece = std::size_t{1} << 14;
  std::vector<std::size_t> offsets{0};
  std::size_t found = 0;
  while (of.next < of.rows() && found < pairs_at_once) {
    check_cancelled();
    const std::size_t end = std::min(of.rows(), of.next + rows_of_a_piece);
    for (; of.next < end && found < pairs_at_once; ++of.next) found += of.matches_of(of.next);
    offsets.push_back(found);
  }
  auto& probe = of.build_left ? block.right : block.left;
  auto& built = of.build_left ? block.left : block.right;
  probe.resize(found);
  built.resize(found);
  parallel_for(offsets.size() - 1, [&](std::size_t piece) {
    std::size_t to = offsets[piece];
    for (std::size_t row = first + piece * rows_of_a_piece; to < offsets[piece + 1]; ++row) {
      const std::size_t count = of.matches_of(row);
      if (count == 0) continue;
      std::fill_n(probe.begin() + static_cast<std::ptrdiff_t>(to), count, static_cast<std::int64_t>(row));
      of.write(row, built.data() + to);
      to += count;
    }
  });
  return true;
}

}  // namespace espalier::engine
