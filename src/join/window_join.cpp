// window_join.cpp - see window_join.hpp.
#include "espalier/join/window_join.hpp"

#include "join/cuda_joins.hpp"
#include "join/ranges.hpp"
#include "join/values.hpp"

namespace espalier {

using namespace join_detail;

namespace join_detail {

struct value_column {
  scalar_kind kind = scalar_kind::opaque;
  prefix_counts counts;
  prefix_sums sums;
  extrema best;
  std::size_t bytes() const { return counts.bytes() + sums.bytes() + best.bytes(); }
  value_column_view view() const { return {kind, counts.view(), sums.view(), best.view()}; }
};

}  // namespace join_detail

class window_index::implementation {
 public:
  implementation(const char* call, const prepared_rows& rows, std::span<const column_view> columns,
                 std::span<const window_function> functions)
      : side(rows) {
    require_compact(call, rows);
    const cpu_backend backend(rows.get_device());
    for (const window_function f : functions) made |= window_bit(f);
    const auto wants = [&](window_function f) { return (made & window_bit(f)) != 0; };
    with_key_type(rows.kind(), call, [&](auto key) {
      using typed = typed_prepared_rows<decltype(key)>;
      row_numbers = static_cast<const typed&>(rows).main_rows();
      size = static_cast<const typed&>(rows).main_size();
    });
    for (const column_view& column : columns) {
      require_rows(call, "a value column", rows.size(), column.size);
      value_column values;
      values.kind = column.kind;
      const positioned_column in{column, row_numbers, size};
      values.counts = prefix_counts(backend, rows.get_device(), in);
      if (wants(window_function::sum) || wants(window_function::avg)) {
        values.sums = prefix_sums(backend, rows.get_device(), in);
      }
      const bool wants_min = wants(window_function::min), wants_max = wants(window_function::max);
      if (wants_min || wants_max) {
        values.best = extrema(backend, rows.get_device(), in, values.counts, wants_min, wants_max);
      }
      value_columns.push_back(std::move(values));
    }
  }
  [[nodiscard]] window_target target(const window_output& output) const {
    window_target out{output.function, output.data, output.width, row_numbers, {}};
    if (output.function != window_function::count_rows) out.column = value_columns[output.column].view();
    return out;
  }

  const prepared_rows& side;
  const row_number* row_numbers = nullptr;
  std::size_t size = 0;
  std::vector<value_column> value_columns;
  unsigned made = 0;
};

namespace {

/// t - a or t + a, saturating.
template <class Key>
range_end<query_of<Key>> shifted(Key t, const std::optional<key_distance>& distance, bool down) {
  if (!distance) return {t, down ? end_place::before_all : end_place::after_all};
  if constexpr (std::is_floating_point_v<Key>) {
    const double base = static_cast<double>(t), by = distance->real();
    return {static_cast<query_of<Key>>(down ? base - by : base + by), end_place::at_key};
  } else {
    const int128 moved =
        down ? static_cast<int128>(t) - distance->integer() : static_cast<int128>(t) + distance->integer();
    constexpr Key least = std::numeric_limits<Key>::min(), most = std::numeric_limits<Key>::max();
    if (moved < static_cast<int128>(least)) return {least, end_place::before_all};
    if (moved > static_cast<int128>(most)) return {most, end_place::after_all};
    return {static_cast<Key>(moved), end_place::at_key};
  }
}

void check_distance(const char* call, scalar_kind kind, const std::optional<key_distance>& distance) {
  if (!distance) return;
  if (!is_float_kind(kind) && distance->is_real()) {
    throw error(std::string(call) + ": keys are integers; pass the ends of the window as integers.");
  }
  if (is_float_kind(kind) && !std::isfinite(distance->real())) {
    throw error(std::string(call) + ": an end of the window is not finite; leave it out for an unbounded window.");
  }
}

template <class Key>
void window_of_type(const char* call, const window_index& index, const join_side& left_side,
                    const window_bounds& bounds, std::span<const window_output> outputs) {
  const auto& side = static_cast<const typed_prepared_rows<Key>&>(side_of(index));
  const device& dev = side.get_device();
  const cpu_backend backend(dev);
  const auto left = clean_side<Key>(call, "left", backend, dev, left_side);
  const auto ordered = order_rows(backend, dev, left, left_side.groups, sorts_rows::if_many);
  const auto ranges = empty_ranges(backend, dev, left_side.on.size, left.is_complete);
  using query = query_of<Key>;
  const auto ends = [&](std::size_t i, range_end<query>& first, range_end<query>& last) {
    first = shifted(ordered.keys[i], bounds.preceding, true);
    last = shifted(ordered.keys[i], bounds.following, false);
    return true;
  };
  rank_ranges<Key, query>(backend, ordered, side, bounds.includes_first ? bound_type::lower : bound_type::upper, side,
                          bounds.includes_last ? bound_type::upper : bound_type::lower, ends, ranges.data());
  aggregate_ranges(call, index, ranges.span(), outputs);
}

}  // namespace

namespace join_detail {

const prepared_rows& side_of(const window_index& index) { return index.get().side; }

void require_compact(const char* call, const prepared_rows& side) {
  if (side.has_tails()) {
    throw error(std::string(call) + ": the prepared side has appended rows; call compact() first.");
  }
}

void check_outputs(const char* call, const window_index& index, std::size_t rows,
                   std::span<const window_output> outputs) {
  std::vector<scalar_kind> kinds;
  for (const value_column& column : index.get().value_columns) kinds.push_back(column.kind);
  check_outputs(call, kinds, index.get().made, rows, outputs);
}

void check_outputs(const char* call, std::span<const scalar_kind> kinds, unsigned made, std::size_t rows,
                   std::span<const window_output> outputs) {
  for (const window_output& output : outputs) {
    require_rows(call, "an output", rows, output.size);
    if (!output.validity.empty()) {
      require_rows(call, "a validity bitmap (bytes)", (rows + 7) / 8, output.validity.size());
    }
    const auto width_is = [&](unsigned width, const char* type) {
      if (output.width == width) return;
      throw error(std::string(call) + ": an output has elements of " + std::to_string(output.width) +
                  " bytes; pass a span of " + type + ".");
    };
    if (output.function == window_function::count_rows) {
      width_is(8, "u64 for counts");
      continue;
    }
    if (output.column >= kinds.size()) {
      throw error(std::string(call) + ": an output names value column " + std::to_string(output.column) + " of " +
                  std::to_string(kinds.size()) + "; columns are counted from 0.");
    }
    const scalar_kind kind = kinds[output.column];
    const auto is_made = [&](window_function f) { return (made & window_bit(f)) != 0; };
    switch (output.function) {
      case window_function::count:
        width_is(8, "u64 for counts");
        break;
      case window_function::first:
      case window_function::last:
        width_is(4, "row_number for rows");
        break;
      case window_function::avg:
        width_is(8, "double for averages");
        break;
      case window_function::sum:
        if (is_float_kind(kind) || output.width != 16) {
          width_is(8, is_float_kind(kind) ? "double for sums of floats" : "int128 or i64 for sums of integers");
        }
        break;
      default:
        width_is(bytes_of(kind), "the column's type for minimum and maximum");
        if (!is_made(output.function)) {
          throw error(std::string(call) + ": the window_index was made without min or max; name it in `functions`.");
        }
        break;
    }
    if ((output.function == window_function::sum || output.function == window_function::avg) &&
        !is_made(window_function::sum) && !is_made(window_function::avg)) {
      throw error(std::string(call) + ": the window_index was made without sum or avg; name it in `functions`.");
    }
  }
}

void aggregate_ranges(const char* call, const window_index& index, std::span<const position_range> ranges,
                      std::span<const window_output> outputs) {
  check_outputs(call, index, ranges.size(), outputs);
  const cpu_backend backend(side_of(index).get_device());
  backend.for_each_chunk(ranges.size(), 4096, [&](std::size_t first, std::size_t last) {
    for (const window_output& output : outputs) {
      const window_target target = index.get().target(output);
      for (std::size_t i = first; i < last; i += 8) {
        unsigned bits = 0;
        for (std::size_t j = 0; j < 8 && i + j < last; ++j) {
          const window_result result = target.write(i + j, ranges[i + j]);
          if (result == window_result::too_wide) throw_sum_too_wide();
          bits |= static_cast<unsigned>(result == window_result::value) << j;
        }
        if (!output.validity.empty()) output.validity[i / 8] = static_cast<std::uint8_t>(bits);
      }
    }
  });
}

}  // namespace join_detail

window_index::window_index(const prepared_side& side, std::span<const column_view> columns,
                           std::span<const window_function> functions, const stream& s) {
  const prepared_rows& rows = side.implementation();
  rows.get_device().invoke_in_order(rows.get_device().resolve(s), [&] {
    implementation_ = std::make_unique<implementation>("window_index", rows, columns, functions);
  });
}
window_index::window_index(std::unique_ptr<implementation> made) : implementation_(std::move(made)) {}
window_index::window_index(window_index&&) noexcept = default;
window_index& window_index::operator=(window_index&&) noexcept = default;
window_index::~window_index() = default;

void window_index::window_join(const join_side& left, const window_bounds& bounds,
                               std::span<const window_output> outputs, const stream& s) const {
  constexpr const char* call = "window_join()";
  const prepared_rows& side = side_of(*this);
  require_side(call, "left", left);
  require_compact(call, side);
  require_same_groups(call, left, side.kind(), side.groups(), side.size() == 0);
  check_distance(call, side.kind(), bounds.preceding);
  check_distance(call, side.kind(), bounds.following);
  check_outputs(call, *this, left.on.size, outputs);
  side.get_device().invoke_in_order(side.get_device().resolve(s), [&] {
    if (side.size() == 0 || left.on.size == 0) {
      const std::vector<position_range> none(left.on.size);
      aggregate_ranges(call, *this, none, outputs);
      return;
    }
    with_key_type(side.kind(), call,
                  [&](auto key) { window_of_type<decltype(key)>(call, *this, left, bounds, outputs); });
  });
}

namespace {

/// The checks of a prepared side, a window_index and its window_join().
void check_gpu_call(const char* call, const join_side& left, const join_side& right,
                    std::span<const column_view> columns, const window_bounds& bounds,
                    std::span<const window_output> outputs) {
  std::vector<scalar_kind> kinds;
  unsigned functions = 0;
  for (const window_output& output : outputs) functions |= window_bit(output.function);
  for (const column_view& column : columns) {
    require_rows(call, "a value column", right.on.size, column.size);
    if ((functions & ~(window_bit(window_function::count_rows) | window_bit(window_function::count) |
                       window_bit(window_function::first) | window_bit(window_function::last))) != 0) {
      with_value_type(column.kind, [](auto) {});
    }
    kinds.push_back(column.kind);
  }
  require_side(call, "left", left);
  require_same_groups(call, left, right.on.kind, right.groups, right.on.size == 0);
  check_distance(call, right.on.kind, bounds.preceding);
  check_distance(call, right.on.kind, bounds.following);
  check_outputs(call, kinds, functions, left.on.size, outputs);
}

}  // namespace

std::size_t window_index::bytes() const noexcept {
  std::size_t total = 0;
  for (const value_column& column : implementation_->value_columns) total += column.bytes();
  return total;
}

void window_join(const join_side& left, const join_side& right, std::span<const column_view> columns,
                 const window_bounds& bounds, std::span<const window_output> outputs, const device& dev,
                 const stream& s) {
  constexpr const char* call = "window_join()";
  require_side(call, "right", right);
  if (dev.kind() == device_kind::cuda) {
    check_gpu_call(call, left, right, columns, bounds, outputs);
    dev.invoke_in_order(dev.resolve(s),
                        [&] { window_join_on_gpu(left, right, columns, bounds, outputs, dev, dev.resolve(s)); });
    return;
  }
  std::vector<window_function> functions;
  for (const window_output& output : outputs) functions.push_back(output.function);
  std::unique_ptr<prepared_rows> rows;
  std::unique_ptr<window_index::implementation> made;
  dev.invoke_in_order(dev.resolve(s), [&] {
    rows = with_key_type(right.on.kind, call, [&](auto key) -> std::unique_ptr<prepared_rows> {
      return std::make_unique<typed_prepared_rows<decltype(key)>>(call, "right", right, dev, true);
    });
    made = std::make_unique<window_index::implementation>(call, *rows, columns, functions);
  });
  window_index(std::move(made)).window_join(left, bounds, outputs, s);
}

}  // namespace espalier
