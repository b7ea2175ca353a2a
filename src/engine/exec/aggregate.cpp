#include "engine/exec/aggregate.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "engine/error.hpp"
#include "engine/expr/decimal_double.hpp"
#include "engine/expr/relation.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/float_sum.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

using sum_word = espalier::int128;

// Pieces of the rows are aggregated in parallel, each with its own states, which are then merged piece by piece. There
// are at most as many pieces as threads, and their states together are no more than the rows.
std::size_t piece_count(std::size_t rows, std::size_t groups) {
  constexpr std::size_t fewest_rows = std::size_t{1} << 15;
  return std::clamp<std::size_t>(std::min(rows / fewest_rows, rows / std::max<std::size_t>(groups, 1)), 1,
                                 parallel_width());
}

template <class State, class Fold>
std::vector<State> folded_states(std::size_t rows, std::size_t groups, const Fold& fold) {
  const std::size_t count = piece_count(rows, groups);
  std::vector<std::vector<State>> pieces(count);
  parallel_for(count, [&](std::size_t i) {
    pieces[i].resize(groups);
    in_blocks(rows * i / count, rows * (i + 1) / count,
              [&](std::size_t begin, std::size_t end) { fold(begin, end, pieces[i]); });
  });
  for (std::size_t i = 1; i < count; ++i) {
    for (std::size_t g = 0; g < groups; ++g) pieces[0][g].merge(pieces[i][g]);
  }
  return std::move(pieces[0]);
}

template <class Array>
auto number_at(const Array& values, std::int64_t i) {
  if constexpr (std::is_same_v<Array, arrow::Decimal128Array>) {
    const arrow::Decimal128 value(values.GetValue(i));
    const auto high = static_cast<espalier::uint128>(static_cast<std::uint64_t>(value.high_bits())) << 64;
    return static_cast<sum_word>(high | value.low_bits());
  } else {
    return values.raw_values()[i];
  }
}

arrow::Decimal128 decimal_of(sum_word value) {
  return {static_cast<std::int64_t>(value >> 64), static_cast<std::uint64_t>(value)};
}

// The state of sums over integers and decimals.
struct exact_state {
  static constexpr bool in_lanes = false;
  sum_word sum = 0;
  std::int64_t count = 0;
  std::int64_t wraps = 0;  // overflows of `sum`, times 2^128; 0 if `sum` is exact

  template <class T>
  void add(T value, std::size_t) {
    ++count;
    if constexpr (std::is_same_v<T, sum_word>) {
      add_word(value);
    } else {
      sum += static_cast<sum_word>(value);  // 2^32 rows of 64-bit values cannot overflow
    }
  }
  void add_rows(std::int64_t sum_of_rows, std::int64_t rows) {
    count += rows;
    add_word(sum_of_rows);
  }
  void merge(const exact_state& other) {
    count += other.count;
    wraps += other.wraps;
    add_word(other.sum);
  }
  [[nodiscard]] bool has_38_digits() const {
    return wraps == 0 && decimal_of(sum).FitsInPrecision(max_decimal_precision);
  }

 private:
  void add_word(sum_word value) {
    if (__builtin_add_overflow(sum, value, &sum)) wraps += value > 0 ? 1 : -1;
  }
};

constexpr std::size_t most_narrow_groups = 64;

// Several states that are merged at the end are faster than one, whose additions depend on each other.
template <class Array, class State>
void add_in_lanes(const Array& values, State& into) {
  constexpr std::int64_t lanes = 4;
  State of_lane[lanes];
  std::int64_t i = 0;
  for (; i + lanes <= values.length(); i += lanes) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) of_lane[lane].add(number_at(values, i + lane), 0);
  }
  for (; i < values.length(); ++i) of_lane[0].add(number_at(values, i), 0);
  for (const auto& part : of_lane) into.merge(part);
}

template <class Array, class State>
void add_chunk(const Array& values, const row_groups& rows, std::size_t row, std::vector<State>& states) {
  const bool nulls = values.null_count() > 0;
  if (values.length() == 0) return;  // there may be no group at all
  if (rows.of_row.empty()) {         // a single group, whose state stays in registers
    if constexpr (State::in_lanes) {
      if (!nulls) return add_in_lanes(values, states[0]);
    }
    State one = states[0];
    for (std::int64_t i = 0; i < values.length(); ++i) {
      if (!nulls || values.IsValid(i)) one.add(number_at(values, i), row + static_cast<std::size_t>(i));
    }
    states[0] = one;
    return;
  }
  for (std::int64_t i = 0; i < values.length(); ++i, ++row) {
    const auto group = rows.of_row[row];
    if (group != no_group && (!nulls || values.IsValid(i))) states[group].add(number_at(values, i), row);
  }
}

// Adds a block of decimals with few bits in 64-bit words. Each group has several sums, so that consecutive additions do
// not depend on each other. Returns false, without adding anything, if a value has too many bits.
bool add_narrow_block(const std::int64_t* decimals, const std::uint32_t* group_of, std::size_t count,
                      std::vector<exact_state>& states) {
  constexpr std::int64_t bias = std::int64_t{1} << 50;
  std::uint64_t beyond = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t low = decimals[2 * i];
    beyond |= static_cast<std::uint64_t>(decimals[2 * i + 1] ^ (low >> 63));
    beyond |= (static_cast<std::uint64_t>(low) + bias) >> 51;
  }
  if (beyond != 0) return false;
  constexpr std::size_t lanes = 4;
  if (group_of == nullptr) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += decimals[2 * i];
    states[0].add_rows(sum, static_cast<std::int64_t>(count));
    return true;
  }
  std::int64_t sums[lanes][most_narrow_groups + 1] = {};  // the last sum is for rows without a group
  std::int32_t counts[lanes][most_narrow_groups + 1] = {};
  const auto add = [&](std::size_t i, std::size_t lane) {
    const auto group = std::min<std::size_t>(group_of[i], most_narrow_groups);
    sums[lane][group] += decimals[2 * i];
    ++counts[lane][group];
  };
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) add(i + lane, lane);
  }
  for (; i < count; ++i) add(i, 0);
  for (std::size_t g = 0; g < states.size(); ++g) {
    for (std::size_t lane = 0; lane < lanes; ++lane) states[g].add_rows(sums[lane][g], counts[lane][g]);
  }
  return true;
}

bool add_narrow_chunk(const arrow::Decimal128Array& values, const row_groups& rows, std::size_t row,
                      std::vector<exact_state>& states) {
  if (values.null_count() > 0 || values.length() == 0 || states.size() > most_narrow_groups) return false;
  constexpr std::size_t block = 1024;
  const auto* const decimals = reinterpret_cast<const std::int64_t*>(values.GetValue(0));
  const auto length = static_cast<std::size_t>(values.length());
  for (std::size_t begin = 0; begin < length; begin += block) {
    const auto* const group_of = rows.of_row.empty() ? nullptr : rows.of_row.data() + row + begin;
    const auto count = std::min(block, length - begin);
    if (add_narrow_block(decimals + 2 * begin, group_of, count, states)) continue;
    for (std::size_t i = begin; i < begin + count; ++i) {
      const auto group = rows.group(row + i);
      if (group != no_group) states[group].add(number_at(values, static_cast<std::int64_t>(i)), row + i);
    }
  }
  return true;
}

template <class State, class Array>
std::vector<State> states_of(const arrow::ChunkedArray& column, const row_groups& rows, std::size_t groups) {
  const auto count = static_cast<std::size_t>(column.length());
  return folded_states<State>(count, groups, [&](std::size_t begin, std::size_t end, std::vector<State>& states) {
    const auto part = column.Slice(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
    for (const auto& chunk : part->chunks()) {
      const auto& numbers = static_cast<const Array&>(*chunk);
      bool added = false;
      if constexpr (std::is_same_v<State, exact_state> && std::is_same_v<Array, arrow::Decimal128Array>) {
        added = add_narrow_chunk(numbers, rows, begin, states);
      }
      if (!added) add_chunk(numbers, rows, begin, states);
      begin += static_cast<std::size_t>(chunk->length());
    }
  });
}

template <class State>
std::vector<State> number_states(const arrow::ChunkedArray& column, const row_groups& rows, std::size_t groups) {
  switch (column.type()->id()) {
    case arrow::Type::INT8:
      return states_of<State, arrow::Int8Array>(column, rows, groups);
    case arrow::Type::INT16:
      return states_of<State, arrow::Int16Array>(column, rows, groups);
    case arrow::Type::INT32:
      return states_of<State, arrow::Int32Array>(column, rows, groups);
    case arrow::Type::INT64:
      return states_of<State, arrow::Int64Array>(column, rows, groups);
    case arrow::Type::DATE32:
      return states_of<State, arrow::Date32Array>(column, rows, groups);
    case arrow::Type::TIMESTAMP:
      return states_of<State, arrow::TimestampArray>(column, rows, groups);
    case arrow::Type::FLOAT:
      return states_of<State, arrow::FloatArray>(column, rows, groups);
    case arrow::Type::DOUBLE:
      return states_of<State, arrow::DoubleArray>(column, rows, groups);
    default:
      return states_of<State, arrow::Decimal128Array>(column, rows, groups);
  }
}

struct count_state {
  std::int64_t rows = 0;
  void merge(const count_state& other) { rows += other.rows; }
};

std::vector<count_state> counted(const arrow::ChunkedArray* values, const row_groups& rows, std::size_t total,
                                 std::size_t groups) {
  const bool nulls = values && values->null_count() > 0;
  if (rows.of_row.empty()) {
    return std::vector<count_state>(groups, {static_cast<std::int64_t>(total) - (nulls ? values->null_count() : 0)});
  }
  return folded_states<count_state>(total, groups, [&](std::size_t begin, std::size_t end, auto& states) {
    const auto count = [&](bool valid) {
      if (valid && rows.of_row[begin] != no_group) ++states[rows.of_row[begin]].rows;
      ++begin;
    };
    if (!nulls) {
      while (begin < end) count(true);
      return;
    }
    const auto part = values->Slice(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
    for (const auto& chunk : part->chunks()) {
      for (std::int64_t i = 0; i < chunk->length(); ++i) count(chunk->IsValid(i));
    }
  });
}

std::shared_ptr<arrow::Array> count_array(const std::vector<count_state>& counts) {
  arrow::Int64Builder builder;
  for (const auto& count : counts) check(builder.Append(count.rows));
  return value_of(builder.Finish());
}

// Keeps one row per distinct value of a group.
row_groups distinct_rows(const arrow::ChunkedArray& values, const row_groups& rows) {
  const auto finer = refined(rows, group_codes(values), true);
  row_groups out;
  out.of_row.assign(static_cast<std::size_t>(values.length()), no_group);
  for_each_row(finer.first_row.size(), [&](std::size_t i) {
    const auto row = static_cast<std::size_t>(finer.first_row[i]);
    out.of_row[row] = rows.group(row);
  });
  out.first_row = rows.first_row;
  return out;
}

[[noreturn]] void refuse_sum(int position) {
  throw_sql_error(codes::numeric_value_out_of_range, position,
                  "The sum has more than 38 digits; cast its argument to double precision.");
}

std::shared_ptr<arrow::Array> exact_sums(const aggregate_call& call, const arrow::ChunkedArray& values,
                                         const row_groups& rows, std::size_t groups) {
  const auto builder = value_of(arrow::MakeBuilder(arrow_type(call.type)));
  for (const auto& state : number_states<exact_state>(values, rows, groups)) {
    if (state.count == 0) {
      check(builder->AppendNull());
    } else if (call.type.id == type_id::int64) {
      const auto sum = static_cast<std::int64_t>(state.sum);
      if (sum_word{sum} != state.sum)
        throw_sql_error(codes::numeric_value_out_of_range, call.position, "The sum does not fit bigint.");
      check(static_cast<arrow::Int64Builder&>(*builder).Append(sum));
    } else {
      if (!state.has_38_digits()) refuse_sum(call.position);
      check(static_cast<arrow::Decimal128Builder&>(*builder).Append(decimal_of(state.sum)));
    }
  }
  return value_of(builder->Finish());
}

int scale_of(const arrow::DataType& type) {
  return type.id() == arrow::Type::DECIMAL128 ? static_cast<const arrow::Decimal128Type&>(type).scale() : 0;
}

struct double_state {
  static constexpr bool in_lanes = true;
  float_sum<2> sum;
  std::int64_t count = 0;

  template <class T>
  void add(T value, std::size_t) {
    ++count;
    sum += static_cast<double>(value);
  }
  void merge(const double_state& other) {
    count += other.count;
    sum += other.sum;
  }
};

constexpr std::size_t exact_sums_at_once = std::size_t{1} << 14;  // 9 MB of state

// Adds the rows whose group has a slot to the sum in that slot.
void add_exactly(const arrow::ChunkedArray& values, const row_groups& rows, const std::vector<std::uint32_t>& slot_of,
                 std::vector<exact_float_sum>& sums) {
  std::size_t row = 0;
  for (const auto& chunk : values.chunks()) {
    const auto add_all = [&](const auto& numbers) {
      for (std::int64_t i = 0; i < numbers.length(); ++i) {
        if (i % static_cast<std::int64_t>(rows_between_checks) == 0) check_cancelled();
        const auto group = rows.group(row + static_cast<std::size_t>(i));
        if (group == no_group || numbers.IsNull(i) || slot_of[group] == no_group) continue;
        sums[slot_of[group]].add(static_cast<double>(numbers.Value(i)));
      }
    };
    if (chunk->type_id() == arrow::Type::FLOAT) {
      add_all(static_cast<const arrow::FloatArray&>(*chunk));
    } else {
      add_all(static_cast<const arrow::DoubleArray&>(*chunk));
    }
    row += static_cast<std::size_t>(chunk->length());
  }
}

// Returns the total of each group: an exact sum, rounded once, so that the result depends neither on the order of rows
// nor on the number of threads.
std::vector<double> float_totals(const std::vector<double_state>& states, const arrow::ChunkedArray& values,
                                 const row_groups& rows) {
  std::vector<double> out(states.size());
  std::vector<std::size_t> lossy;
  for (std::size_t g = 0; g < states.size(); ++g) {
    if (states[g].sum.is_exact()) {
      out[g] = states[g].sum.total();
    } else {
      lossy.push_back(g);
    }
  }
  for (std::size_t first = 0; first < lossy.size(); first += exact_sums_at_once) {
    const std::size_t count = std::min(exact_sums_at_once, lossy.size() - first);
    std::vector<std::uint32_t> slot_of(states.size(), no_group);
    for (std::size_t i = 0; i < count; ++i) slot_of[lossy[first + i]] = static_cast<std::uint32_t>(i);
    std::vector<exact_float_sum> sums(count);
    add_exactly(values, rows, slot_of, sums);
    for (std::size_t i = 0; i < count; ++i) out[lossy[first + i]] = sums[i].total();
  }
  return out;
}

std::shared_ptr<arrow::Array> float_sums(const arrow::ChunkedArray& values, const row_groups& rows, std::size_t groups,
                                         bool average) {
  arrow::DoubleBuilder builder;
  const auto states = number_states<double_state>(values, rows, groups);
  const auto totals = float_totals(states, values, rows);
  for (std::size_t g = 0; g < states.size(); ++g) {
    const auto count = states[g].count;
    check(count == 0 ? builder.AppendNull()
                     : builder.Append(average ? totals[g] / static_cast<double>(count) : totals[g]));
  }
  return value_of(builder.Finish());
}

std::shared_ptr<arrow::Array> exact_averages(const aggregate_call& call, const arrow::ChunkedArray& values,
                                             const row_groups& rows, std::size_t groups) {
  arrow::DoubleBuilder builder;
  const int scale = scale_of(*values.type());
  for (const auto& state : number_states<exact_state>(values, rows, groups)) {
    if (!state.has_38_digits()) refuse_sum(call.position);
    check(state.count == 0 ? builder.AppendNull()
                           : builder.Append(decimal_average(decimal_of(state.sum), scale, state.count)));
  }
  return value_of(builder.Finish());
}

// The row with the best value so far, and its normalized key.
template <bool Least>
struct extreme_state {
  static constexpr bool in_lanes = false;  // the first of several equal values is kept
  std::int64_t row = null_row;
  std::uint64_t high = 0, word = 0;

  void merge(const extreme_state& other) {
    if (other.row == null_row) return;
    const bool below = other.high != high ? other.high < high : other.word < word;
    const bool above = other.high != high ? other.high > high : other.word > word;
    if (row == null_row || (Least ? below : above)) *this = other;
  }
  template <class T>
  void add(T value, std::size_t at) {
    if constexpr (!std::is_same_v<T, sum_word>) merge({static_cast<std::int64_t>(at), 0, ordered_word(value)});
  }
};

// The same for texts, which are compared in place. Normalized keys of texts require a sort, which takes far longer.
template <bool Least>
struct extreme_text {
  std::int64_t row = null_row;
  std::string_view text;

  void merge(const extreme_text& other) {
    if (other.row == null_row) return;
    const int order = row == null_row ? 0 : other.text.compare(text);
    if (row == null_row || (Least ? order < 0 : order > 0)) *this = other;
  }
};

template <bool Least>
std::vector<std::int64_t> extreme_text_rows(const arrow::ChunkedArray& values, const row_groups& rows,
                                            std::size_t groups) {
  using state = extreme_text<Least>;
  const auto count = static_cast<std::size_t>(values.length());
  const auto best = folded_states<state>(count, groups, [&](std::size_t begin, std::size_t end, auto& states) {
    const auto part = values.Slice(static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
    for (const auto& chunk : part->chunks()) {
      const auto& texts = static_cast<const arrow::StringArray&>(*chunk);
      for (std::int64_t i = 0; i < texts.length(); ++i, ++begin) {
        const auto group = rows.group(begin);
        if (group == no_group || texts.IsNull(i)) continue;
        states[group].merge({static_cast<std::int64_t>(begin), texts.GetView(i)});
      }
    }
  });
  std::vector<std::int64_t> out;
  for (const auto& one : best) out.push_back(one.row);
  return out;
}

template <bool Least>
std::vector<std::int64_t> extreme_rows(const arrow::ChunkedArray& values, const row_groups& rows, std::size_t groups) {
  using state = extreme_state<Least>;
  if (values.type()->id() == arrow::Type::STRING) return extreme_text_rows<Least>(values, rows, groups);
  std::vector<std::int64_t> out;
  if (values.type()->id() != arrow::Type::DECIMAL128) {
    for (const auto& best : number_states<state>(values, rows, groups)) out.push_back(best.row);
    return out;
  }
  const auto codes = ordered_codes(values);
  const auto fold = [&](std::size_t begin, std::size_t end, std::vector<state>& states) {
    for (std::size_t row = begin; row < end; ++row) {
      const auto group = rows.group(row);
      if (group == no_group || codes.is_null(row)) continue;
      states[group].merge({static_cast<std::int64_t>(row), codes.high.empty() ? 0 : codes.high[row], codes.words[row]});
    }
  };
  for (const auto& best : folded_states<state>(codes.words.size(), groups, fold)) out.push_back(best.row);
  return out;
}

// Returns the squared distance of each value from the mean of its group.
std::shared_ptr<arrow::ChunkedArray> squared_distances(const arrow::ChunkedArray& values, const row_groups& rows,
                                                       const arrow::DoubleArray& means) {
  arrow::ArrayVector chunks;
  std::size_t row = 0;
  for (const auto& chunk : values.chunks()) {
    const auto& numbers = static_cast<const arrow::DoubleArray&>(*chunk);
    arrow::DoubleBuilder builder;
    check(builder.Reserve(numbers.length()));
    in_blocks(0, static_cast<std::size_t>(numbers.length()), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const auto group = rows.group(row + i);
        const auto at = static_cast<std::int64_t>(i);
        if (group == no_group || numbers.IsNull(at)) {
          builder.UnsafeAppendNull();
        } else {
          const double distance = numbers.Value(at) - means.Value(group);
          builder.UnsafeAppend(distance * distance);
        }
      }
    });
    row += static_cast<std::size_t>(numbers.length());
    chunks.push_back(value_of(builder.Finish()));
  }
  return std::make_shared<arrow::ChunkedArray>(std::move(chunks), arrow::float64());
}

// Computes variances and standard deviations of doubles in two passes with exact sums. The result is bitwise identical
// for any order of rows.
std::shared_ptr<arrow::Array> deviations(const std::string& function, const arrow::ChunkedArray& values,
                                         const row_groups& rows, std::size_t groups) {
  const bool of_all = function.ends_with("_pop");
  const auto means = float_sums(values, rows, groups, true);
  const auto squares = squared_distances(values, rows, static_cast<const arrow::DoubleArray&>(*means));
  const auto sums = float_sums(*squares, rows, groups, false);
  const auto counts = counted(&values, rows, static_cast<std::size_t>(values.length()), groups);
  arrow::DoubleBuilder builder;
  for (std::size_t g = 0; g < groups; ++g) {
    const auto degrees = counts[g].rows - (of_all ? 0 : 1);
    if (degrees < 1) {
      check(builder.AppendNull());
      continue;
    }
    const double variance = static_cast<const arrow::DoubleArray&>(*sums).Value(static_cast<std::int64_t>(g)) /
                            static_cast<double>(degrees);
    check(builder.Append(function.starts_with("stddev") ? std::sqrt(variance) : variance));
  }
  return value_of(builder.Finish());
}

// Returns the value of the first row of each group, which may be NULL.
std::shared_ptr<arrow::ChunkedArray> first_values(const std::shared_ptr<arrow::ChunkedArray>& values,
                                                  const row_groups& rows, std::size_t groups) {
  auto first = rows.first_row;
  first.resize(groups, null_row);
  relation one;
  one.rows = values->length();
  one.add(0, values);
  return take_rows_or_null(one, first).columns[0];
}

std::shared_ptr<arrow::ChunkedArray> extreme_values(const std::shared_ptr<arrow::ChunkedArray>& values,
                                                    const row_groups& rows, std::size_t groups, bool least) {
  const auto best = least ? extreme_rows<true>(*values, rows, groups) : extreme_rows<false>(*values, rows, groups);
  relation one;
  one.rows = values->length();
  one.add(0, values);
  return take_rows_or_null(one, best).columns[0];
}

}  // namespace

std::shared_ptr<arrow::ChunkedArray> aggregate_values(const aggregate_call& call,
                                                      const std::shared_ptr<arrow::ChunkedArray>& values,
                                                      const row_groups& rows, std::size_t total, std::size_t groups) {
  if (call.distinct && values) {
    aggregate_call plain = call;
    plain.distinct = false;
    return aggregate_values(plain, values, distinct_rows(*values, rows), total, groups);
  }
  if (call.function == "first") return first_values(values, rows, groups);
  if (call.function == "min" || call.function == "max")
    return extreme_values(values, rows, groups, call.function == "min");
  if (call.function == "count") return chunked(count_array(counted(values.get(), rows, total, groups)));
  if (call.function.starts_with("var") || call.function.starts_with("stddev")) {
    return chunked(deviations(call.function, *values, rows, groups));
  }
  const bool average = call.function == "avg";
  const bool floats = values->type()->id() == arrow::Type::FLOAT || values->type()->id() == arrow::Type::DOUBLE;
  if (floats) return chunked(float_sums(*values, rows, groups, average));
  if (average) return chunked(exact_averages(call, *values, rows, groups));
  return chunked(exact_sums(call, *values, rows, groups));
}

std::shared_ptr<arrow::Array> average_values(const arrow::Array& sums, const arrow::Array& counts) {
  const auto& numbers = static_cast<const arrow::Int64Array&>(counts);
  const auto& decimals = static_cast<const arrow::Decimal128Array&>(sums);
  const int scale = scale_of(*sums.type());
  arrow::DoubleBuilder builder;
  for (std::int64_t i = 0; i < sums.length(); ++i) {
    check(sums.IsNull(i)
              ? builder.AppendNull()
              : builder.Append(decimal_average(arrow::Decimal128(decimals.GetValue(i)), scale, numbers.Value(i))));
  }
  return value_of(builder.Finish());
}

}  // namespace espalier::engine
