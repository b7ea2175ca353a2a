#include "engine/exec/ordered_aggregate.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/error.hpp"
#include "engine/expr/relation.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/keys/sort.hpp"
#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

// Removes rows whose value is NULL and, for DISTINCT, all but one row per value.
row_groups rows_with_values(const arrow::ChunkedArray& values, const row_groups& rows, bool distinct) {
  row_groups out;
  out.first_row = rows.first_row;
  const auto codes = group_codes(values);
  out.of_row.assign(codes.words.size(), no_group);
  if (distinct) {
    const auto finer = refined(rows, codes, true);
    for_each_row(finer.first_row.size(), [&](std::size_t i) {
      const auto row = static_cast<std::size_t>(finer.first_row[i]);
      out.of_row[row] = rows.group(row);
    });
    return out;
  }
  for_each_row(codes.words.size(), [&](std::size_t row) {
    if (!codes.is_null(row)) out.of_row[row] = rows.group(row);
  });
  return out;
}

// Returns the rows of each group in order.
grouped_rows ordered_rows(const row_groups& groups, std::size_t count, const std::vector<std::int64_t>& order) {
  grouped_rows out;
  out.offsets.assign(count + 1, 0);
  for (const auto group : groups.of_row) {
    if (group != no_group) ++out.offsets[group + 1];
  }
  for (std::size_t g = 0; g < count; ++g) out.offsets[g + 1] += out.offsets[g];
  out.rows.resize(out.offsets.back());
  auto next = out.offsets;
  for_each_row(order.size(), [&](std::size_t i) {
    const auto group = groups.of_row[static_cast<std::size_t>(order[i])];
    if (group != no_group) out.rows[next[group]++] = order[i];
  });
  return out;
}

std::shared_ptr<arrow::ChunkedArray> joined_texts(const std::shared_ptr<arrow::ChunkedArray>& values,
                                                  const std::shared_ptr<arrow::ChunkedArray>& separators,
                                                  const grouped_rows& lists, int position) {
  relation both;
  both.rows = values->length();
  both.add(0, values);
  both.add(1, separators);
  const auto taken = take_rows(both, lists.rows);
  const auto cursor = [](const std::shared_ptr<arrow::ChunkedArray>& column) {
    return [column, chunk = 0, at = std::int64_t{0}]() mutable -> std::string_view {
      while (at == column->chunk(chunk)->length()) {
        ++chunk;
        at = 0;
      }
      const auto& texts = static_cast<const arrow::StringArray&>(*column->chunk(chunk));
      const auto i = at++;
      return texts.IsNull(i) ? std::string_view() : texts.GetView(i);
    };
  };
  // Lengths are computed first, so that a result that is too long is refused before memory is allocated.
  std::vector<std::int64_t> lengths(lists.offsets.size() - 1, 0);
  auto text_ahead = cursor(taken.columns[0]);
  auto separator_ahead = cursor(taken.columns[1]);
  for (std::size_t g = 0; g < lengths.size(); ++g) {
    for (auto i = lists.offsets[g]; i < lists.offsets[g + 1]; ++i) {
      const auto separator = std::ssize(separator_ahead());
      lengths[g] += std::ssize(text_ahead()) + (i > lists.offsets[g] ? separator : 0);
    }
    require_text_fits(lengths[g], position);
  }
  auto next_text = cursor(taken.columns[0]);
  auto next_separator = cursor(taken.columns[1]);
  chunk_builder builder(arrow::utf8());
  const auto longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const memory_claim claim(static_cast<std::size_t>(longest));  // `text` is not allocated from Arrow's pool
  std::string text;
  for (std::size_t g = 0; g + 1 < lists.offsets.size(); ++g) {
    if (lists.offsets[g] == lists.offsets[g + 1]) {
      builder.append_null();
      continue;
    }
    text.clear();
    text.reserve(static_cast<std::size_t>(lengths[g]));
    for (auto i = lists.offsets[g]; i < lists.offsets[g + 1]; ++i) {
      if (i % rows_between_checks == 0) check_cancelled();
      const auto separator = next_separator();
      if (i > lists.offsets[g]) text += separator;
      text += next_text();
    }
    builder.append_text(text, position);
  }
  return builder.finish();
}

std::optional<double> fraction_of(const aggregate_call& call, const arrow::ChunkedArray& fractions) {
  if (fractions.length() == 0) return std::nullopt;
  const auto scalar = value_of(fractions.GetScalar(0));
  if (!scalar->is_valid) return std::nullopt;
  const double out = static_cast<const arrow::DoubleScalar&>(*scalar).value;
  if (!(out >= 0 && out <= 1)) {
    throw_sql_error(codes::numeric_value_out_of_range, call.position,
                    fmt::format("{} takes a fraction from 0 to 1.", call.function));
  }
  return out;
}

// The positions of the rows below and above the fraction, and the interpolation weight between them.
struct place {
  std::uint64_t low, high;
  double between;
};

place place_of(double fraction, std::uint64_t count, bool continuous) {
  if (!continuous) {
    const auto n = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count)));
    return {n == 0 ? 0 : n - 1, n == 0 ? 0 : n - 1, 0};
  }
  const double at = fraction * static_cast<double>(count - 1);
  const auto low = static_cast<std::uint64_t>(std::floor(at));
  return {low, static_cast<std::uint64_t>(std::ceil(at)), at - std::floor(at)};
}

std::shared_ptr<arrow::ChunkedArray> percentiles(const aggregate_call& call,
                                                 const std::shared_ptr<arrow::ChunkedArray>& values,
                                                 const grouped_rows& lists, std::optional<double> fraction) {
  const bool continuous = call.function == "percentile_cont";
  std::vector<std::int64_t> low, high;
  std::vector<double> between;
  for (std::size_t g = 0; g + 1 < lists.offsets.size(); ++g) {
    const auto count = lists.offsets[g + 1] - lists.offsets[g];
    const bool none = count == 0 || !fraction;
    const auto at = none ? place{0, 0, 0} : place_of(*fraction, count, continuous);
    low.push_back(none ? null_row : lists.rows[lists.offsets[g] + at.low]);
    high.push_back(none ? null_row : lists.rows[lists.offsets[g] + at.high]);
    between.push_back(at.between);
  }
  relation one;
  one.rows = values->length();
  one.add(0, values);
  const auto found = take_rows_or_null(one, low).columns[0];
  if (!continuous) return found;
  const auto lows = flat(found);
  const auto highs = flat(take_rows_or_null(one, high).columns[0]);
  arrow::DoubleBuilder builder;
  for (std::int64_t i = 0; i < lows->length(); ++i) {
    if (lows->IsNull(i)) {
      check(builder.AppendNull());
      continue;
    }
    const double first = static_cast<const arrow::DoubleArray&>(*lows).Value(i);
    const double second = static_cast<const arrow::DoubleArray&>(*highs).Value(i);
    const double part = between[static_cast<std::size_t>(i)];
    check(builder.Append(part == 0 ? first : first + part * (second - first)));
  }
  return chunked(value_of(builder.Finish()));
}

}  // namespace

std::shared_ptr<arrow::ChunkedArray> ordered_aggregate_values(
    const aggregate_call& call, const std::shared_ptr<arrow::ChunkedArray>& values,
    const std::vector<std::shared_ptr<arrow::ChunkedArray>>& more, const row_groups& rows, std::size_t groups) {
  const auto words_of_a_row = 4 + 2 * more.size();  // keys, groups, the order and the lists
  const memory_claim claim(static_cast<std::size_t>(values->length()) * 8 * words_of_a_row);
  std::vector<sort_column> keys;
  const auto add_key = [&](const arrow::ChunkedArray& column, std::uint8_t direction) {
    keys.push_back({ordered_codes(column), (direction & 1) != 0, (direction & 2) != 0});
  };
  const bool texts = call.function == "string_agg";
  // Percentiles are ordered by their argument.
  const auto first_key = more.size() - (texts ? call.directions.size() : 0);
  for (std::size_t i = first_key; i < more.size(); ++i) add_key(*more[i], call.directions[i - first_key]);
  add_key(*values, texts ? 0 : call.directions[0]);
  const auto with_values = rows_with_values(*values, rows, call.distinct);
  const auto order =
      sorted_rows(keys, static_cast<std::size_t>(values->length()), std::numeric_limits<std::uint64_t>::max());
  const auto lists = ordered_rows(with_values, groups, order);
  if (texts) return joined_texts(values, more[0], lists, call.position);
  return percentiles(call, values, lists, fraction_of(call, *more[0]));
}

}  // namespace espalier::engine
