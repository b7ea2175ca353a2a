#include "engine/exec/window_sums.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <atomic>
#include <memory>
#include <numeric>
#include <optional>

#include "engine/error.hpp"
#include "engine/exec/fixed_point.hpp"
#include "engine/exec/window_column.hpp"
#include "engine/expr/decimal_double.hpp"
#include "engine/float_sum.hpp"
#include "engine/memory_budget.hpp"
#include "engine/parallel_sort.hpp"
#include "engine/stop.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

// The sums of the first 0, 1, ... positions, of value(position). Sums wrap, and differences that fit are exact.
template <class Word>
class prefix_sums {
 public:
  template <class Value>
  prefix_sums(std::size_t rows, const Value& value)
      : claim_((rows + 1) * sizeof(Word)), sums_(std::make_unique_for_overwrite<Word[]>(rows + 1)) {
    sums_[0] = 0;
    constexpr std::size_t block = std::size_t{1} << 15;
    std::vector<Word> before((rows + block - 1) / block + 1, 0);
    parallel_for(before.size() - 1, [&](std::size_t b) {
      Word sum = 0;
      for (std::size_t i = b * block; i < std::min(rows, (b + 1) * block); ++i) sums_[i + 1] = sum += value(i);
      before[b + 1] = sum;
    });
    for (std::size_t b = 1; b < before.size(); ++b) before[b] += before[b - 1];
    parallel_for(before.size() - 1, [&](std::size_t b) {
      for (std::size_t i = b * block; i < std::min(rows, (b + 1) * block); ++i) sums_[i + 1] += before[b];
    });
  }

  [[nodiscard]] Word between(std::size_t begin, std::size_t end) const { return sums_[end] - sums_[begin]; }

 private:
  memory_claim claim_;
  std::unique_ptr<Word[]> sums_;
};

// The number of values in a frame that are not NULL.
class value_counts {
 public:
  value_counts(const arrow::ChunkedArray* values, const window_order& order) {
    if (values == nullptr || values->null_count() == 0) return;
    std::vector<std::uint8_t> valid(static_cast<std::size_t>(values->length()));
    for_each_batch(values->length(), [&](std::size_t, std::int64_t begin, std::int64_t count) {
      auto row = static_cast<std::size_t>(begin);
      const auto slice = values->Slice(begin, count);
      for (const auto& chunk : slice->chunks()) {
        for (std::int64_t i = 0; i < chunk->length(); ++i) valid[row++] = chunk->IsValid(i) ? 1 : 0;
      }
    });
    counts_.emplace(order.rows(), [&](std::size_t i) -> std::uint32_t { return valid[order.row(i)]; });
  }
  [[nodiscard]] std::int64_t between(std::size_t begin, std::size_t end) const {
    return counts_ ? std::int64_t{counts_->between(begin, end)} : static_cast<std::int64_t>(end - begin);
  }

 private:
  std::optional<prefix_sums<std::uint32_t>> counts_;
};

// The values of a column at the rows of the input; NULL is 0.
template <class Array>
class number_reader {
 public:
  explicit number_reader(const arrow::Array& values)
      : values_(static_cast<const Array&>(values)), nulls_(values.null_count() > 0) {}

  [[nodiscard]] bool is_null(std::size_t row) const { return nulls_ && values_.IsNull(static_cast<std::int64_t>(row)); }
  [[nodiscard]] auto operator[](std::size_t row) const {
    const auto i = static_cast<std::int64_t>(row);
    if constexpr (std::is_same_v<Array, arrow::Decimal128Array>) {
      const arrow::Decimal128 value(values_.GetValue(i));
      const auto high = static_cast<uint128>(static_cast<std::uint64_t>(value.high_bits())) << 64;
      return is_null(row) ? int128{0} : static_cast<int128>(high | value.low_bits());
    } else {
      using value_type = decltype(values_.Value(i));
      return is_null(row) ? value_type{0} : values_.raw_values()[i];
    }
  }

 private:
  const Array& values_;
  bool nulls_;
};

constexpr int128 ten_to_38 = [] {
  int128 out = 1;
  for (int i = 0; i < max_decimal_precision; ++i) out *= 10;
  return out;
}();

[[noreturn]] void refuse_sum(int position) {
  throw_sql_error(codes::numeric_value_out_of_range, position,
                  "The sum has more than 38 digits; cast its argument to double precision.");
}

// Everything that the loops over frames need.
struct sum_task {
  const window_call& call;
  const arrow::Array& values;
  const window_order& order;
  const window_runs& runs;
  const frame_rows& frames;
  const value_counts& counts;

  [[nodiscard]] std::size_t value_rows() const { return static_cast<std::size_t>(values.length()); }
  [[nodiscard]] std::size_t frame_count() const { return frames.begin.size(); }
  /// Returns the row of the result for a frame.
  [[nodiscard]] std::size_t target(std::size_t frame) const { return frames.of_input_rows ? frame : order.row(frame); }
  [[nodiscard]] bool is_average() const { return call.function == "avg"; }
  [[nodiscard]] int scale() const {
    return values.type_id() == arrow::Type::DECIMAL128
               ? static_cast<const arrow::Decimal128Type&>(*values.type()).scale()
               : 0;
  }
};

double average(int128 sum, int scale, std::int64_t count) {
  return decimal_average({static_cast<std::int64_t>(sum >> 64), static_cast<std::uint64_t>(sum)}, scale, count);
}

// Stores result(sum of the frame, count) for each row whose frame has values. `sum_between` returns the sum of a frame.
template <class T, class SumBetween, class Result>
std::shared_ptr<arrow::ChunkedArray> from_prefixes(const sum_task& task, const SumBetween& sum_between,
                                                   const Result& result) {
  window_column<T> out(task.frame_count());
  parallel_pieces(task.frame_count(), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const auto begin = task.frames.begin[i], end = task.frames.end[i];
      const auto count = task.counts.between(begin, end);
      if (count == 0) {
        out.set_null(task.target(i));
      } else {
        out.set(task.target(i), result(sum_between(begin, end), count));
      }
    }
  });
  return std::move(out).finish(arrow_type(task.call.type));
}

// The order in which sliding visits frames: windows of a window join by their beginnings, others as they are.
std::vector<std::uint32_t> visits_of(const frame_rows& frames) {
  std::vector<std::uint32_t> out;
  if (!frames.of_input_rows) return out;
  out.resize(frames.begin.size());
  std::iota(out.begin(), out.end(), 0U);
  parallel_sort(out.begin(), out.end(), std::ssize(out), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(frames.begin[a], frames.end[a]) < std::pair(frames.begin[b], frames.end[b]);
  });
  return out;
}

// The states of the first 0, B, 2 B, ... positions. The state of a frame takes two of them and at most 2 B values,
// however long the frame is.
template <class State, class Reader>
class state_checkpoints {
 public:
  static constexpr std::size_t block = 64;  // 592 bytes per state of floats: 9 per position

  state_checkpoints(const window_order& order, const Reader& values)
      : order_(order),
        values_(values),
        claim_((order.rows() / block + 1) * sizeof(State)),
        states_(order.rows() / block + 1) {
    const auto add_blocks = [&](std::size_t first, std::size_t last) {
      for (std::size_t b = first; b < last; ++b) add(states_[b + 1], b * block, (b + 1) * block);
    };
    parallel_pieces(states_.size() - 1, add_blocks, std::size_t{1} << 8);
    for (std::size_t b = 1; b < states_.size(); ++b) states_[b] += states_[b - 1];
  }

  [[nodiscard]] State between(std::size_t begin, std::size_t end) const {
    State state;
    if (end - begin <= 2 * block) {
      add(state, begin, end);
      return state;
    }
    state = states_[end / block];
    add(state, end / block * block, end);
    state -= states_[begin / block];
    for (std::size_t place = begin / block * block; place < begin; ++place) {
      const auto row = order_.row(place);
      if (!values_.is_null(row)) state.remove(values_[row]);
    }
    return state;
  }

 private:
  void add(State& state, std::size_t begin, std::size_t end) const {
    for (std::size_t place = begin; place < end; ++place) {
      const auto row = order_.row(place);
      if (!values_.is_null(row)) state.add(values_[row]);
    }
  }

  const window_order& order_;
  const Reader& values_;
  memory_claim claim_;
  std::vector<State> states_;
};

// Whether the ends of frames, in the order of their beginnings, move so far back and forth that sliding adds and
// removes more values than checkpoints do. Only windows of a window join have such ends.
bool ends_wander(const frame_rows& frames, const std::vector<std::uint32_t>& visits, std::size_t rows) {
  std::size_t moved = 0;
  for (std::size_t v = 1; v < visits.size(); ++v) {
    const std::size_t before = frames.end[visits[v - 1]], end = frames.end[visits[v]];
    moved += before < end ? end - before : before - end;
  }
  return moved > 128 * visits.size() + rows;
}

// As from_prefixes, with a state that values are added to and removed from. Beginnings of the frames that a part visits
// ascend. Their ends may descend in a window join; rows that were added for an earlier window are removed then, or the
// frames are answered from checkpoints, so that the cost does not depend on the windows.
template <class T, class State, class Reader, class Result>
std::shared_ptr<arrow::ChunkedArray> by_sliding(const sum_task& task, const Reader& values, const Result& result) {
  const auto visits = visits_of(task.frames);
  if (ends_wander(task.frames, visits, task.order.rows())) {
    const state_checkpoints<State, Reader> sums(task.order, values);
    return from_prefixes<T>(
        task, [&](std::size_t begin, std::size_t end) { return sums.between(begin, end); }, result);
  }
  window_column<T> out(task.frame_count());
  const std::vector<std::uint32_t> all{0, static_cast<std::uint32_t>(task.frame_count())};
  const auto& partitions = task.frames.of_input_rows ? all : task.runs.partitions;
  // A part first adds the whole frame of its first row, so there are no more parts than threads.
  for_each_part(partitions, parallel_width(), [&](const window_part& part) {
    State state;
    std::size_t begin = 0, end = 0;
    const auto add = [&](std::size_t place) {
      const auto row = task.order.row(place);
      if (!values.is_null(row)) state.add(values[row]);
    };
    const auto remove = [&](std::size_t place) {
      const auto row = task.order.row(place);
      if (!values.is_null(row)) state.remove(values[row]);
    };
    for_each_row(part.begin, part.end, [&](std::size_t visit) {
      const std::size_t i = visits.empty() ? visit : visits[visit];
      if (task.frames.begin[i] >= end) {
        state = State{};
        begin = end = task.frames.begin[i];
      }
      while (end < task.frames.end[i]) add(end++);
      while (end > task.frames.end[i]) remove(--end);
      while (begin < task.frames.begin[i]) remove(begin++);
      const auto count = task.counts.between(begin, end);
      if (count == 0) {
        out.set_null(task.target(i));
      } else {
        out.set(task.target(i), result(state, count));
      }
    });
  });
  return std::move(out).finish(arrow_type(task.call.type));
}

// A sum of decimals that may have more than 128 bits in between.
class wide_sum {
 public:
  void add(int128 value) {
    if (__builtin_add_overflow(sum_, value, &sum_)) wraps_ += value > 0 ? 1 : -1;
  }
  void remove(int128 value) {
    if (__builtin_sub_overflow(sum_, value, &sum_)) wraps_ -= value > 0 ? 1 : -1;
  }
  wide_sum& operator+=(const wide_sum& other) {
    add(other.sum_);
    wraps_ += other.wraps_;
    return *this;
  }
  wide_sum& operator-=(const wide_sum& other) {
    remove(other.sum_);
    wraps_ -= other.wraps_;
    return *this;
  }
  /// Returns the sum, or throws if it has more than 38 digits.
  [[nodiscard]] int128 total(int position) const {
    if (wraps_ != 0 || sum_ >= ten_to_38 || sum_ <= -ten_to_38) refuse_sum(position);
    return sum_;
  }

 private:
  int128 sum_ = 0;
  std::int64_t wraps_ = 0;  ///< overflows of `sum_`, times 2^128
};

template <class Array>
std::shared_ptr<arrow::ChunkedArray> small_integer_sums(const sum_task& task) {
  const number_reader<Array> values(task.values);
  const prefix_sums<std::uint64_t> sums(task.order.rows(), [&](std::size_t i) {
    return static_cast<std::uint64_t>(std::int64_t{values[task.order.row(i)]});
  });
  const auto sum = [&](std::size_t begin, std::size_t end) {
    return static_cast<std::int64_t>(sums.between(begin, end));
  };
  if (task.is_average()) {
    return from_prefixes<double>(task, sum,
                                 [](std::int64_t total, std::int64_t count) { return average(total, 0, count); });
  }
  return from_prefixes<std::int64_t>(task, sum, [](std::int64_t total, std::int64_t) { return total; });
}

// Returns whether sums of all subsets of the decimals have at most 127 bits.
bool sums_fit(const number_reader<arrow::Decimal128Array>& values, std::size_t rows) {
  std::atomic<bool> fit{true};
  const int128 most = (ten_to_38 - 1) / static_cast<int128>(std::max<std::size_t>(rows, 1));
  parallel_pieces(rows, [&](std::size_t begin, std::size_t end) {
    bool all = true;
    for (std::size_t row = begin; row < end; ++row) all &= values[row] <= most && values[row] >= -most;
    if (!all) fit.store(false, std::memory_order_relaxed);
  });
  return fit.load();
}

template <class Array>
std::shared_ptr<arrow::ChunkedArray> exact_sums(const sum_task& task) {
  const number_reader<Array> values(task.values);
  const int scale = task.scale();
  const int position = task.call.position;
  if constexpr (std::is_same_v<Array, arrow::Decimal128Array>) {
    if (!sums_fit(values, task.value_rows())) {
      if (task.is_average()) {
        return by_sliding<double, wide_sum>(task, values, [&](const wide_sum& sum, std::int64_t count) {
          return average(sum.total(position), scale, count);
        });
      }
      return by_sliding<int128, wide_sum>(task, values,
                                          [&](const wide_sum& sum, std::int64_t) { return sum.total(position); });
    }
  }
  const prefix_sums<int128> sums(task.order.rows(), [&](std::size_t i) { return int128{values[task.order.row(i)]}; });
  const auto sum = [&](std::size_t begin, std::size_t end) { return sums.between(begin, end); };
  if (task.is_average()) {
    return from_prefixes<double>(task, sum,
                                 [&](int128 total, std::int64_t count) { return average(total, scale, count); });
  }
  return from_prefixes<int128>(task, sum, [](int128 total, std::int64_t) { return total; });
}

template <class Array>
float_extent extent_of(const number_reader<Array>& values, std::size_t rows) {
  constexpr std::size_t block = std::size_t{1} << 16;
  std::vector<float_extent> parts((rows + block - 1) / block);
  parallel_for(parts.size(), [&](std::size_t b) {
    for (std::size_t row = b * block; row < std::min(rows, (b + 1) * block); ++row) {
      parts[b].add(static_cast<double>(values[row]));
    }
  });
  float_extent out;
  for (const auto& part : parts) out.merge(part);
  return out;
}

template <class Array>
std::shared_ptr<arrow::ChunkedArray> float_sums(const sum_task& task) {
  const number_reader<Array> values(task.values);
  const auto result = [average = task.is_average()](double total, std::int64_t count) {
    return average ? total / static_cast<double>(count) : total;
  };
  const auto extent = extent_of(values, task.value_rows());
  if (!extent.fits(task.value_rows())) {
    return by_sliding<double, exact_float_sum>(
        task, values, [&](const exact_float_sum& sum, std::int64_t count) { return result(sum.total(), count); });
  }
  const prefix_sums<int128> sums(task.order.rows(), [&](std::size_t i) {
    return fixed_point(static_cast<double>(values[task.order.row(i)]), extent.low);
  });
  return from_prefixes<double>(
      task, [&](std::size_t begin, std::size_t end) { return rounded_double(sums.between(begin, end), extent.low); },
      result);
}

}  // namespace

std::shared_ptr<arrow::ChunkedArray> counts_of_frames(const std::shared_ptr<arrow::ChunkedArray>& values,
                                                      const window_order& order, const frame_rows& frames) {
  const value_counts present(values.get(), order);
  const std::size_t count = frames.begin.size();
  window_column<std::int64_t> out(count);
  parallel_pieces(count, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      out.set(frames.of_input_rows ? i : order.row(i), present.between(frames.begin[i], frames.end[i]));
    }
  });
  return std::move(out).finish(arrow::int64());
}

std::shared_ptr<arrow::ChunkedArray> sums_of_frames(const window_call& call,
                                                    const std::shared_ptr<arrow::ChunkedArray>& values,
                                                    const window_order& order, const window_runs& runs,
                                                    const frame_rows& frames) {
  const auto array = flat(values);
  const value_counts counts(values.get(), order);
  const sum_task task{call, *array, order, runs, frames, counts};
  switch (array->type_id()) {
    case arrow::Type::INT8:
      return small_integer_sums<arrow::Int8Array>(task);
    case arrow::Type::INT16:
      return small_integer_sums<arrow::Int16Array>(task);
    case arrow::Type::INT32:
      return small_integer_sums<arrow::Int32Array>(task);
    case arrow::Type::INT64:
      return exact_sums<arrow::Int64Array>(task);
    case arrow::Type::FLOAT:
      return float_sums<arrow::FloatArray>(task);
    case arrow::Type::DOUBLE:
      return float_sums<arrow::DoubleArray>(task);
    default:
      return exact_sums<arrow::Decimal128Array>(task);
  }
}

}  // namespace espalier::engine
