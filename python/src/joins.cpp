// joins.cpp - the joins of espalier/join for espalier/joins.py: columns, groups, row numbers. Types of columns, units
// and names are matters of the Python side, which converts both sides to one key type first.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "espalier/join/asof_join.hpp"
#include "espalier/join/interval_join.hpp"
#include "espalier/join/prepared_side.hpp"
#include "espalier/join/window_join.hpp"
#include "join_columns.hpp"
#include "join_groups.hpp"
#include "unlocked.hpp"

namespace espalier::python {

namespace {

using codes_in = std::optional<rows_in>;
using row_array = nb::ndarray<nb::numpy, row_number, nb::ndim<1>>;
using offset_array = nb::ndarray<nb::numpy, std::uint64_t, nb::ndim<1>>;

/// Python's column: a shared handle of an immutable column.
struct column_handle {
  column_ptr column;
};

/// A key distance. Integers of more than 64 bits become the largest distance.
std::optional<key_distance> distance_of(const nb::object& value) {
  if (value.is_none()) return {};
  if (PyFloat_Check(value.ptr())) return key_distance(PyFloat_AsDouble(value.ptr()));
  int overflows = 0;
  const long long small = PyLong_AsLongLongAndOverflow(value.ptr(), &overflows);
  if (overflows == 0) {
    if (small == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return key_distance(small);
  }
  if (overflows < 0) throw overflow("A distance between keys is less than -2^63; leave the end of the window out.");
  const unsigned long long large = PyLong_AsUnsignedLongLong(value.ptr());
  if (PyErr_Occurred() == nullptr) return key_distance(large);
  PyErr_Clear();
  return key_distance(std::numeric_limits<std::uint64_t>::max());
}

row_order order_of(const std::string& name) {
  if (name == "sorted") return row_order::sorted;
  if (name == "unsorted") return row_order::unsorted;
  return row_order::detect;
}

join_side side_of(const column_ptr& on, const codes_in& codes, std::uint32_t groups, const std::string& order) {
  join_side side;
  side.on = on->view();
  if (codes.has_value()) {
    side.by = {codes->data(), codes->shape(0)};
    side.groups = groups;
  }
  side.order = order_of(order);
  return side;
}

asof_options options_of(const std::string& direction, bool exact, const nb::object& tolerance) {
  asof_options options;
  options.direction = direction == "forward"   ? asof_direction::forward
                      : direction == "nearest" ? asof_direction::nearest
                                               : asof_direction::backward;
  options.allow_exact_matches = exact;
  options.tolerance = distance_of(tolerance);
  return options;
}

std::span<const row_number> span_of(const rows_in& rows) { return {rows.data(), rows.shape(0)}; }

/// A prepared side with the latch that its appends need.
class prepared {
 public:
  prepared(const column_ptr& on, const codes_in& codes, std::uint32_t groups, const std::string& order)
      : side_([&] {
          const join_side side = side_of(on, codes, groups, order);
          const unlocked parallel;
          return prepared_side::build(side, join_device());
        }()) {}

  void append(const column_ptr& on, const codes_in& codes, std::uint32_t groups) {
    const join_side side = side_of(on, codes, groups, "detect");
    const unlocked_write released;
    const std::unique_lock exclusive(latch_);
    side_.append(side);
    ++version_;
  }
  void compact() {
    const unlocked_write released;
    const std::unique_lock exclusive(latch_);
    side_.compact();
    ++version_;
  }
  row_array asof(const column_ptr& on, const codes_in& codes, std::uint32_t groups, const std::string& order,
                 const std::string& direction, bool exact, const nb::object& tolerance) const {
    join_side left = side_of(on, codes, groups, order);
    const asof_options options = options_of(direction, exact, tolerance);
    buffer<row_number> rows(join_device(), on->size);
    {
      const unlocked parallel;
      const std::shared_lock shared(latch_);
      if (codes.has_value()) left.groups = side_.groups();  // codes of groups that came later match nothing anyway
      side_.asof_join(left, rows.span(), options);
    }
    return array_of(std::move(rows));
  }

  [[nodiscard]] std::size_t size() const {
    const unlocked_write released;
    const std::shared_lock shared(latch_);
    return side_.size();
  }
  [[nodiscard]] std::size_t bytes() const {
    const unlocked_write released;
    const std::shared_lock shared(latch_);
    return side_.bytes();
  }
  /// For other joins, which hold the latch meanwhile.
  [[nodiscard]] const prepared_side& side() const { return side_; }
  [[nodiscard]] std::shared_mutex& latch() const { return latch_; }
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  mutable std::shared_mutex latch_;
  prepared_side side_;
  std::uint64_t version_ = 0;
};

row_array asof(const column_handle& left_on, const column_handle& right_on, const codes_in& left_codes,
               const codes_in& right_codes, std::uint32_t groups, const std::string& left_order,
               const std::string& right_order, const std::string& direction, bool exact, const nb::object& tolerance) {
  const join_side left = side_of(left_on.column, left_codes, groups, left_order);
  const join_side right = side_of(right_on.column, right_codes, groups, right_order);
  const asof_options options = options_of(direction, exact, tolerance);
  buffer<row_number> rows(join_device(), left_on.column->size);
  {
    const unlocked parallel;
    asof_join(left, right, rows.span(), options, join_device());
  }
  return array_of(std::move(rows));
}

// ---- aggregates of windows and spans
// ---------------------------------------------------------------------------------

using wanted_aggregate = std::pair<std::string, std::size_t>;  // function, value column

window_function function_of(const std::string& name) {
  if (name == "size") return window_function::count_rows;
  if (name == "count") return window_function::count;
  if (name == "sum") return window_function::sum;
  if (name == "min") return window_function::min;
  if (name == "max") return window_function::max;
  if (name == "mean") return window_function::avg;
  if (name == "first") return window_function::first;
  return window_function::last;
}

/// Memory for the answers of aggregates, as columns; rows of first and last as plain columns of row numbers.
struct aggregate_outputs {
  std::vector<made_column> made;
  std::vector<window_output> outputs;

  aggregate_outputs(std::span<const wanted_aggregate> wanted, std::span<const column_ptr> values, std::size_t rows) {
    for (const auto& [name, column] : wanted) {
      const window_function function = function_of(name);
      const bool is_count = function == window_function::count || function == window_function::count_rows;
      const bool is_row = function == window_function::first || function == window_function::last;
      std::string format = is_row ? "I" : "l";
      if (function == window_function::avg) format = "g";
      if (function == window_function::min || function == window_function::max) format = values[column]->format;
      if (function == window_function::sum) {
        const scalar_kind kind = values[column]->scalar;
        if (kind == scalar_kind::f32 || kind == scalar_kind::f64) format = "g";
      }
      made.push_back(make_column(format, rows, !is_count && !is_row));
      window_output output;
      output.function = function;
      output.column = column;
      output.data = made.back().data;
      output.size = rows;
      output.width = made.back().column->width;
      output.validity = made.back().validity;
      outputs.push_back(output);
    }
  }
  [[nodiscard]] std::vector<column_handle> finish() const {
    std::vector<column_handle> columns;
    for (const made_column& m : made) columns.push_back({m.finish()});
    return columns;
  }
};

window_bounds bounds_of(const nb::object& preceding, const nb::object& following, bool lower, bool upper) {
  window_bounds bounds;
  bounds.preceding = distance_of(preceding);
  bounds.following = distance_of(following);
  bounds.includes_first = lower;
  bounds.includes_last = upper;
  return bounds;
}

std::vector<column_ptr> columns_of(const std::vector<column_handle>& handles) {
  std::vector<column_ptr> columns;
  for (const column_handle& handle : handles) columns.push_back(handle.column);
  return columns;
}

/// Value columns over a prepared side.
class window_values {
 public:
  window_values(std::shared_ptr<prepared> side, const std::vector<column_handle>& values,
                const std::vector<std::string>& functions)
      : side_(std::move(side)), values_(columns_of(values)) {
    std::vector<column_view> views;
    for (const column_ptr& c : values_) views.push_back(c->view());
    std::vector<window_function> made;
    for (const std::string& name : functions) made.push_back(function_of(name));
    const unlocked parallel;
    const std::shared_lock shared(side_->latch());
    version_ = side_->version();
    index_.emplace(side_->side(), views, made);
  }
  /// Nothing (None) if the side was appended to or compacted since: its rows moved under the values.
  std::optional<std::vector<column_handle>> window_join(const column_handle& on, const codes_in& codes,
                                                        std::uint32_t groups, const std::string& order,
                                                        const nb::object& preceding, const nb::object& following,
                                                        bool lower, bool upper,
                                                        const std::vector<wanted_aggregate>& wanted) const {
    join_side left = side_of(on.column, codes, groups, order);
    const window_bounds bounds = bounds_of(preceding, following, lower, upper);
    const aggregate_outputs answers(wanted, values_, on.column->size);
    const unlocked parallel;
    const std::shared_lock shared(side_->latch());
    if (version_ != side_->version()) return std::nullopt;
    if (codes.has_value()) left.groups = side_->side().groups();
    index_->window_join(left, bounds, answers.outputs);
    return answers.finish();
  }

 private:
  std::shared_ptr<prepared> side_;
  std::vector<column_ptr> values_;
  std::uint64_t version_ = 0;
  std::optional<window_index> index_;
};

std::vector<column_handle> window_once(const column_handle& left_on, const column_handle& right_on,
                                       const codes_in& left_codes, const codes_in& right_codes, std::uint32_t groups,
                                       const std::string& left_order, const std::string& right_order,
                                       const std::vector<column_handle>& values, const nb::object& preceding,
                                       const nb::object& following, bool lower, bool upper,
                                       const std::vector<wanted_aggregate>& wanted) {
  const join_side left = side_of(left_on.column, left_codes, groups, left_order);
  const join_side right = side_of(right_on.column, right_codes, groups, right_order);
  const window_bounds bounds = bounds_of(preceding, following, lower, upper);
  const std::vector<column_ptr> columns = columns_of(values);
  std::vector<column_view> views;
  for (const column_ptr& c : columns) views.push_back(c->view());
  const aggregate_outputs answers(wanted, columns, left_on.column->size);
  const unlocked parallel;
  espalier::window_join(left, right, views, bounds, answers.outputs, join_device());
  return answers.finish();
}

// ---- spans
// -----------------------------------------------------------------------------------------------------------

span_side spans_of(const column_handle& lower, const column_handle& upper, const codes_in& codes, std::uint32_t groups,
                   bool includes_lower, bool includes_upper) {
  span_side side;
  side.lower = lower.column->view();
  side.upper = upper.column->view();
  if (codes.has_value()) {
    side.by = {codes->data(), codes->shape(0)};
    side.groups = groups;
  }
  side.includes_lower = includes_lower;
  side.includes_upper = includes_upper;
  return side;
}

std::pair<row_array, row_array> pair_arrays(buffer<row_number>&& left, buffer<row_number>&& right) {
  return {array_of(std::move(left)), array_of(std::move(right))};
}

/// (left row, right row) of pairs that are listed by left row. With `keeps_all`, left rows without a pair get no_row.
std::pair<buffer<row_number>, buffer<row_number>> pairs_by_left(join_pairs&& pairs, bool keeps_all) {
  const std::uint64_t* offsets = pairs.offsets.data();
  const std::size_t n = pairs.offsets.size() - 1;
  const cpu_backend backend(join_device());
  constexpr std::size_t grain = std::size_t{1} << 14;
  // Rows without a pair before each piece: pairs move up by as many.
  const std::size_t pieces = (n + grain - 1) / grain;
  std::vector<std::size_t> unmatched(pieces + 1, 0);
  if (keeps_all) {
    backend.for_each(
        pieces,
        [&](std::size_t p) {
          for (std::size_t i = p * grain; i < std::min(n, (p + 1) * grain); ++i) {
            unmatched[p + 1] += offsets[i] == offsets[i + 1] ? 1 : 0;
          }
        },
        1);
    for (std::size_t p = 0; p < pieces; ++p) unmatched[p + 1] += unmatched[p];
  }
  const std::size_t total = pairs.rows.size() + unmatched[pieces];
  buffer<row_number> left(join_device(), total);
  if (unmatched[pieces] == 0) {
    backend.for_each_chunk(n, grain, [&](std::size_t first, std::size_t last) {
      // One element without a branch on the number of pairs: that of a row without pairs is overwritten by the next.
      for (std::size_t i = first; i < last && offsets[i] < offsets[last]; ++i) {
        left.data()[offsets[i]] = static_cast<row_number>(i);
        for (std::size_t at = offsets[i] + 1; at < offsets[i + 1]; ++at) left.data()[at] = static_cast<row_number>(i);
      }
    });
    return {std::move(left), std::move(pairs.rows)};
  }
  buffer<row_number> right(join_device(), total);
  backend.for_each(
      pieces,
      [&](std::size_t p) {
        std::size_t at = offsets[p * grain] + unmatched[p];
        for (std::size_t i = p * grain; i < std::min(n, (p + 1) * grain); ++i) {
          for (std::uint64_t from = offsets[i]; from < offsets[i + 1]; ++from, ++at) {
            left.data()[at] = static_cast<row_number>(i);
            right.data()[at] = pairs.rows.data()[from];
          }
          if (offsets[i] == offsets[i + 1]) {
            left.data()[at] = static_cast<row_number>(i);
            right.data()[at++] = no_row;
          }
        }
      },
      1);
  return {std::move(left), std::move(right)};
}

offset_array counts_of_spans(const prepared& points, const column_handle& lower, const column_handle& upper,
                             const codes_in& codes, std::uint32_t groups, bool includes_lower, bool includes_upper) {
  span_side spans = spans_of(lower, upper, codes, groups, includes_lower, includes_upper);
  buffer<std::uint64_t> counts(join_device(), lower.column->size);
  {
    const unlocked parallel;
    const std::shared_lock shared(points.latch());
    if (codes.has_value()) spans.groups = points.side().groups();
    count_points_in_spans(spans, points.side(), counts.span());
  }
  return array_of(std::move(counts));
}

using span_tuple = std::tuple<column_handle, column_handle, codes_in, bool, bool>;

span_side spans_of(const span_tuple& t, std::uint32_t groups) {
  return spans_of(std::get<0>(t), std::get<1>(t), std::get<2>(t), groups, std::get<3>(t), std::get<4>(t));
}

/// Sorts the right rows of each left row.
void sort_by_row(join_pairs& pairs) {
  const std::uint64_t* offsets = pairs.offsets.data();
  cpu_backend(join_device()).for_each(pairs.offsets.size() - 1, [&](std::size_t i) {
    row_number* const first = pairs.rows.data() + offsets[i];
    row_number* const last = pairs.rows.data() + offsets[i + 1];
    if (last - first > 1 && !std::is_sorted(first, last)) std::sort(first, last);
  });
}

/// Pairs in the order of left rows. The right rows of a left row are in the order of their lower ends or, with
/// `by_row`, of their numbers.
std::pair<row_array, row_array> overlap_pairs(const span_tuple& left, const span_tuple& right, std::uint32_t groups,
                                              bool keeps_all, bool by_row) {
  const span_side left_side = spans_of(left, groups), right_side = spans_of(right, groups);
  auto [left_rows, right_rows] = [&] {
    const unlocked parallel;
    const prepared_spans spans = prepared_spans::build(right_side, join_device());
    join_pairs pairs = spans.overlaps(left_side);
    if (by_row && !spans.is_in_row_order()) sort_by_row(pairs);
    return pairs_by_left(std::move(pairs), keeps_all);
  }();
  return pair_arrays(std::move(left_rows), std::move(right_rows));
}

offset_array overlap_counts(const span_tuple& left, const span_tuple& right, std::uint32_t groups) {
  const span_side left_side = spans_of(left, groups), right_side = spans_of(right, groups);
  buffer<std::uint64_t> counts(join_device(), left_side.lower.size);
  {
    const unlocked parallel;
    prepared_spans::build(right_side, join_device()).count_overlaps(left_side, counts.span());
  }
  return array_of(std::move(counts));
}

/// Aggregates of the points of each span.
std::vector<column_handle> points_of_spans(const column_handle& on, const codes_in& codes, std::uint32_t groups,
                                           const std::string& order, const std::vector<column_handle>& values,
                                           const span_tuple& spans, const std::vector<wanted_aggregate>& wanted) {
  const join_side points = side_of(on.column, codes, groups, order);
  const span_side asked = spans_of(spans, groups);
  const std::vector<column_ptr> columns = columns_of(values);
  std::vector<column_view> views;
  for (const column_ptr& c : columns) views.push_back(c->view());
  std::vector<window_function> functions;
  for (const wanted_aggregate& w : wanted) functions.push_back(function_of(w.first));
  const aggregate_outputs answers(wanted, columns, asked.lower.size);
  const unlocked parallel;
  const prepared_side side = prepared_side::build(points, join_device());
  span_window_join(asked, window_index(side, views, functions), answers.outputs);
  return answers.finish();
}

/// Number, sum and mean of the values of the right spans that overlap each left span; NULL where there is no value.
/// Without `wants_sum`, sums may not fit into 64 bits, and are not valid.
std::vector<column_handle> sums_of_overlaps(const span_tuple& left, const span_tuple& right, std::uint32_t groups,
                                            const column_handle& values, bool wants_sum) {
  const span_side left_side = spans_of(left, groups), right_side = spans_of(right, groups);
  const column_view view = values.column->view();
  const std::size_t n = left_side.lower.size;
  const bool is_real = view.kind == scalar_kind::f32 || view.kind == scalar_kind::f64;
  const made_column count = make_column("l", n, false);
  const made_column sum = make_column(is_real ? "g" : "l", n, true), mean = make_column("g", n, true);
  const unlocked parallel;
  const prepared_spans spans = prepared_spans::build(right_side, view, join_device());
  buffer<std::uint64_t> counts(join_device(), n);
  buffer<int128> integers(join_device(), is_real ? 0 : n);
  buffer<double> reals(join_device(), is_real ? n : 0);
  if (view.validity) {
    std::vector<std::uint8_t> valid(view.size);
    for (std::size_t i = 0; i < view.size; ++i) valid[i] = view.validity[i] ? 1 : 0;
    buffer<int128> wide(join_device(), n);
    prepared_spans::build(right_side, column_view(scalar_kind::u8, valid.data(), view.size), join_device())
        .sum_overlaps(left_side, wide.span());
    for (std::size_t i = 0; i < n; ++i) counts.data()[i] = static_cast<std::uint64_t>(wide.data()[i]);
  } else {
    spans.count_overlaps(left_side, counts.span());
  }
  if (is_real) {
    spans.sum_overlaps(left_side, reals.span());
  } else {
    spans.sum_overlaps(left_side, integers.span());
  }
  std::fill(sum.validity.begin(), sum.validity.end(), std::uint8_t{0});
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t rows = counts.data()[i];
    static_cast<std::int64_t*>(count.data)[i] = static_cast<std::int64_t>(rows);
    const bool has_value = rows != 0;
    if (has_value) sum.validity[i / 8] |= static_cast<std::uint8_t>(1u << (i % 8));
    const int128 exact = is_real || !has_value ? int128{0} : integers.data()[i];
    const double real = !has_value ? 0 : is_real ? reals.data()[i] : static_cast<double>(exact);
    if (is_real) {
      static_cast<double*>(sum.data)[i] = real;
    } else {
      const auto small = static_cast<std::int64_t>(exact);
      if (wants_sum && small != exact) throw overflow("aggregate_overlaps(): a sum does not fit into 64 bits");
      static_cast<std::int64_t*>(sum.data)[i] = small;
    }
    static_cast<double*>(mean.data)[i] = has_value ? real / static_cast<double>(rows) : 0;
  }
  std::copy(sum.validity.begin(), sum.validity.end(), mean.validity.begin());
  return {{count.finish()}, {sum.finish()}, {mean.finish()}};
}

// ---- gathers
// ---------------------------------------------------------------------------------------------------------

/// The bytes of values[rows[i]], or of `fill` for no_row. The memory is the library's: its pool keeps pages that are
/// mapped, and fresh pages of an array of NumPy take longer than the gather.
nb::ndarray<nb::numpy, std::uint8_t, nb::ndim<1>> take_array(const array_in& values, const rows_in& rows,
                                                             nb::bytes fill) {
  const std::size_t width = values.itemsize();
  if (values.ndim() != 1 || fill.size() != width) {
    throw nb::value_error("A gather takes a one-dimensional array and one value for rows without a match.");
  }
  const fixed_width_view column(values.data(), values.shape(0), static_cast<unsigned>(width));
  const std::span<const row_number> numbers = span_of(rows);
  const char* missing_value = fill.c_str();
  buffer<std::uint8_t> out(join_device(), numbers.size() * width);
  {
    const unlocked parallel;
    std::uint8_t* to = out.data();
    const std::size_t missing = gather_column(column, numbers, to, {}, join_device());
    if (missing != 0) {
      cpu_backend(join_device()).for_each(numbers.size(), [=](std::size_t i) {
        if (numbers[i] == no_row) std::memcpy(to + i * width, missing_value, width);
      });
    }
  }
  return array_of(std::move(out));
}

std::size_t count_missing(const rows_in& rows) {
  const std::span<const row_number> numbers = span_of(rows);
  const unlocked parallel;
  std::atomic<std::size_t> missing{0};
  cpu_backend(join_device()).for_each_chunk(numbers.size(), 1 << 14, [&](std::size_t first, std::size_t last) {
    const auto found = std::count(numbers.begin() + static_cast<std::ptrdiff_t>(first),
                                  numbers.begin() + static_cast<std::ptrdiff_t>(last), no_row);
    missing.fetch_add(static_cast<std::size_t>(found), std::memory_order_relaxed);
  });
  return missing.load();
}

row_array encode(join_groups& groups, const std::vector<column_handle>& columns, bool adds) {
  const std::vector<column_ptr> keys = columns_of(columns);
  buffer<std::uint32_t> codes(join_device(), keys.empty() ? 0 : keys[0]->size);
  if (adds) {
    const unlocked_write released;
    groups.encode(keys, codes.span(), true);
  } else {
    const unlocked parallel;
    groups.encode(keys, codes.span(), false);
  }
  return array_of(std::move(codes));
}

/// Codes as an array: the copy if there is one, otherwise the memory of the column.
nb::object codes_array(buffer<std::uint32_t>&& own, std::span<const std::uint32_t> codes, const column_ptr& column) {
  if (codes.data() != column->data) return nb::cast(array_of(std::move(own)));
  nb::capsule owner(new column_ptr(column), [](void* p) noexcept { delete static_cast<column_ptr*>(p); });
  return nb::cast(
      nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<1>>(codes.data(), {codes.size()}, std::move(owner)));
}

/// (left codes, right codes, groups) if the values are codes already (dense_groups_of_columns()), otherwise None.
nb::object dense_join_groups(const column_handle& left, const column_handle& right) {
  std::optional<dense_groups> found;
  {
    const unlocked parallel;
    found = dense_groups_of_columns(*left.column, *right.column);
  }
  if (!found.has_value()) return nb::none();
  return nb::make_tuple(codes_array(std::move(found->own_left), found->left, left.column),
                        codes_array(std::move(found->own_right), found->right, right.column), found->groups);
}

}  // namespace

void bind_join_columns(nb::module_& m) {
  nb::class_<column_handle>(m, "JoinColumn", "A column of a frame in one piece of memory.")
      .def_static("from_stream", [](nb::handle capsule) { return column_handle{import_stream(capsule)}; })
      .def_static("from_capsules",
                  [](nb::handle schema, nb::handle array) { return column_handle{import_array(schema, array)}; })
      .def_static(
          "from_array",
          [](const array_in& values, const std::string& format, nb::object missing, bool marks_missing) {
            return column_handle{column_of_array(values, format, missing, marks_missing)};
          },
          nb::arg("values"), nb::arg("format"), nb::arg("missing").none() = nb::none(),
          nb::arg("marks_missing") = false)
      .def_static("from_strings", [](nb::list values) { return column_handle{column_of_strings(values)}; })
      .def_static("from_characters",
                  [](const array_in& values, std::size_t length, bool is_wide) {
                    return column_handle{column_of_characters(values, length, is_wide)};
                  })
      .def_static("from_dictionary",
                  [](const column_handle& indices, const column_handle& values) {
                    return column_handle{dictionary_of(indices.column, values.column)};
                  })
      .def("decode",
           [](const column_handle& c) {
             if (c.column->layout != column_layout::dictionary) throw nb::type_error("The column has no dictionary.");
             const unlocked parallel;
             const buffer<row_number> indices = dictionary_indices(*c.column);
             return column_handle{take_column(c.column->dictionary, indices.span())};
           })
      .def_static("from_rows", [](const rows_in& rows) { return column_handle{column_of_rows(rows)}; })
      .def("cast", [](const column_handle& c, const std::string& format, std::int64_t multiply,
                      std::int64_t divide) { return column_handle{cast_column(c.column, format, multiply, divide)}; })
      .def("reinterpret", [](const column_handle& c,
                             const std::string& format) { return column_handle{reinterpret_column(c.column, format)}; })
      .def("bits_to_bytes", [](const column_handle& c) { return column_handle{bytes_of_bits(c.column)}; })
      .def("take",
           [](const column_handle& c, const rows_in& rows) {
             const unlocked parallel;
             return column_handle{take_column(c.column, span_of(rows))};
           })
      .def("take_doubles",
           [](const column_handle& c, const rows_in& rows) {
             if (c.column->layout != column_layout::fixed) throw nb::type_error("A column of numbers is required.");
             buffer<double> out(join_device(), rows.shape(0));
             {
               const unlocked parallel;
               take_doubles(*c.column, span_of(rows), out.data());
             }
             return array_of(std::move(out));
           })
      .def(
          "__arrow_c_array__", [](const column_handle& c, nb::object) { return export_array(c.column); },
          nb::arg("requested_schema").none() = nb::none())
      .def("values",
           [](nb::handle self) {
             const auto& c = nb::cast<const column_handle&>(self);
             if (c.column->layout != column_layout::fixed) throw nb::type_error("Only fixed-width columns are arrays.");
             return nb::ndarray<nb::numpy, const std::uint8_t, nb::ndim<1>>(
                 static_cast<const std::uint8_t*>(c.column->data), {c.column->size * c.column->width}, self);
           })
      .def("missing",
           [](const column_handle& c) {
             buffer<bool> missing(join_device(), c.column->size);
             if (c.column->layout == column_layout::dictionary) {  // the values may be NULL, too
               const buffer<row_number> rows = dictionary_indices(*c.column);
               const join_column& values = *c.column->dictionary;
               for (std::size_t i = 0; i < missing.size(); ++i) {
                 missing.data()[i] = rows.data()[i] == no_row || !values.validity[rows.data()[i]];
               }
               return array_of(std::move(missing));
             }
             for (std::size_t i = 0; i < missing.size(); ++i) missing.data()[i] = !c.column->validity[i];
             return array_of(std::move(missing));
           })
      .def_prop_ro("format", [](const column_handle& c) { return c.column->format; })
      .def_prop_ro("values_format",
                   [](const column_handle& c) {
                     return c.column->dictionary != nullptr ? c.column->dictionary->format : c.column->format;
                   })
      .def_prop_ro("layout",
                   [](const column_handle& c) {
                     constexpr const char* names[] = {"fixed", "bits",       "text_32", "text_64",
                                                      "views", "dictionary", "other"};
                     return names[static_cast<std::size_t>(c.column->layout)];
                   })
      .def_prop_ro("nulls", [](const column_handle& c) { return c.column->nulls; })
      .def("__len__", [](const column_handle& c) { return c.column->size; });
  m.def("join_take_array", &take_array);
  m.def("join_count_missing", &count_missing);
}

void bind_joins(nb::module_& m) {
  bind_join_columns(m);
  nb::class_<join_groups>(m, "JoinGroups", "Dense codes of the distinct rows of `by` columns.")
      .def(nb::init<>())
      .def("encode", [](join_groups& g, const std::vector<column_handle>& c) { return encode(g, c, true); })
      .def("lookup", [](join_groups& g, const std::vector<column_handle>& c) { return encode(g, c, false); })
      .def("__len__", &join_groups::size, nb::call_guard<nb::gil_scoped_release>());
  m.def("dense_join_groups", &dense_join_groups, nb::arg("left"), nb::arg("right"));
  const auto none = [](const char* name) { return nb::arg(name).none(); };
  nb::class_<prepared>(m, "PreparedSide", "The sorted keys of the right side of joins.")
      .def(
          "__init__",
          [](prepared* self, const column_handle& on, const codes_in& codes, std::uint32_t groups,
             const std::string& order) { new (self) prepared(on.column, codes, groups, order); },
          nb::arg("on"), none("codes"), nb::arg("groups"), nb::arg("order"))
      .def(
          "append",
          [](prepared& p, const column_handle& on, const codes_in& codes, std::uint32_t groups) {
            p.append(on.column, codes, groups);
          },
          nb::arg("on"), none("codes"), nb::arg("groups"))
      .def("compact", &prepared::compact)
      .def(
          "asof",
          [](const prepared& p, const column_handle& on, const codes_in& codes, std::uint32_t groups,
             const std::string& order, const std::string& direction, bool exact, const nb::object& tolerance) {
            return p.asof(on.column, codes, groups, order, direction, exact, tolerance);
          },
          nb::arg("on"), none("codes"), nb::arg("groups"), nb::arg("order"), nb::arg("direction"), nb::arg("exact"),
          none("tolerance"))
      .def("count_in_spans", &counts_of_spans, nb::arg("lower"), nb::arg("upper"), none("codes"), nb::arg("groups"),
           nb::arg("includes_lower"), nb::arg("includes_upper"))
      .def_prop_ro("nbytes", &prepared::bytes)
      .def("__len__", &prepared::size);
  nb::class_<window_values>(m, "WindowValues", "Value columns over a prepared side, for aggregates of windows.")
      .def(nb::init<std::shared_ptr<prepared>, const std::vector<column_handle>&, const std::vector<std::string>&>())
      .def("window_join", &window_values::window_join, nb::arg("on"), none("codes"), nb::arg("groups"),
           nb::arg("order"), none("preceding"), none("following"), nb::arg("lower"), nb::arg("upper"),
           nb::arg("wanted"));
  m.def("asof_join", &asof, nb::arg("left_on"), nb::arg("right_on"), none("left_codes"), none("right_codes"),
        nb::arg("groups"), nb::arg("left_order"), nb::arg("right_order"), nb::arg("direction"), nb::arg("exact"),
        none("tolerance"));
  m.def("window_join", &window_once, nb::arg("left_on"), nb::arg("right_on"), none("left_codes"), none("right_codes"),
        nb::arg("groups"), nb::arg("left_order"), nb::arg("right_order"), nb::arg("values"), none("preceding"),
        none("following"), nb::arg("lower"), nb::arg("upper"), nb::arg("wanted"));
  m.def("span_overlaps", &overlap_pairs, nb::arg("left"), nb::arg("right"), nb::arg("groups"), nb::arg("keeps_all"),
        nb::arg("by_row"));
  m.def("aggregate_points", &points_of_spans, nb::arg("on"), none("codes"), nb::arg("groups"), nb::arg("order"),
        nb::arg("values"), nb::arg("spans"), nb::arg("wanted"));
  m.def("sum_span_overlaps", &sums_of_overlaps, nb::arg("left"), nb::arg("right"), nb::arg("groups"), nb::arg("values"),
        nb::arg("wants_sum"));
  m.def("count_span_overlaps", &overlap_counts, nb::arg("left"), nb::arg("right"), nb::arg("groups"));
}

}  // namespace espalier::python
