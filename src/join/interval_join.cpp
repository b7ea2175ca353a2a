// interval_join.cpp - see interval_join.hpp.
//
// Invariants of typed_spans, over the right spans that can match (positions):
//   1. by_lower_ and by_upper_ have the same rows in the same groups, so a group has the same positions in both.
//   2. ends_ has the upper end of each position of by_lower_, and the greatest upper end of its group up to it (reach).
//      levels_[0] has the maximum of each 16 upper ends, levels_[k] that of each 16 of levels_[k - 1].
#include "espalier/join/interval_join.hpp"

#include "join/ranges.hpp"
#include "join/values.hpp"

namespace espalier {

namespace {

using namespace join_detail;

constexpr std::size_t fan_out = 16;  // of the levels of maxima

void require_spans(const char* call, const char* name, const span_side& spans) {
  require_rows(call, "the column of upper ends", spans.lower.size, spans.upper.size);
  if (spans.lower.kind != spans.upper.kind) {
    throw error(std::string(call) + ": lower and upper ends have different types; convert one of the columns.");
  }
  require_side(call, name, {.on = spans.lower, .by = spans.by, .groups = spans.groups});
  if (spans.upper.size != 0 && spans.upper.data == nullptr) {
    throw error(std::string(call) + ": the " + name + " side has no upper ends; pass the column.");
  }
}

/// Whether a span has a point. The lower end is neither NULL nor NaN.
template <class Key>
bool is_valid_span(const span_side& spans, std::size_t row) {
  const Key lower = static_cast<const Key*>(spans.lower.data)[row],
            upper = static_cast<const Key*>(spans.upper.data)[row];
  if (!spans.upper.validity[row]) return false;
  return lower < upper || (lower == upper && spans.includes_lower && spans.includes_upper);
}

/// Ranges of positions for all left spans: from the rank of their lower end in one side to that of their upper end in
/// another one.
template <class Key>
buffer<position_range> span_ranges(const char* call, const span_side& spans, const typed_prepared_rows<Key>& first_side,
                                   bound_type first_bound, const typed_prepared_rows<Key>& last_side,
                                   bound_type last_bound) {
  const device& dev = first_side.get_device();
  const cpu_backend backend(dev);
  const auto left =
      clean_side<Key>(call, "left", backend, dev, {.on = spans.lower, .by = spans.by, .groups = spans.groups});
  // With directories of both sides, left spans are searched in any order.
  const auto directory_of = [&](const typed_prepared_rows<Key>& side) {
    return directory_for(backend, left, side.main_keys(), side.main_size());
  };
  const bool is_one = &first_side == &last_side;
  const key_directory<Key> first_directory = directory_of(first_side),
                           last_directory = is_one ? key_directory<Key>() : directory_of(last_side);
  const key_directory<Key>* const last_of = is_one ? &first_directory : &last_directory;
  const bool has_directories = !first_directory.empty() && !last_of->empty();
  const auto ordered =
      order_rows(backend, dev, left, spans.groups, has_directories ? sorts_rows::never : sorts_rows::if_many);
  auto ranges = empty_ranges(backend, dev, spans.lower.size, left.is_complete);
  const auto* uppers = static_cast<const Key*>(spans.upper.data);
  const auto ends = [&](std::size_t i, range_end<Key>& first, range_end<Key>& last) {
    const std::size_t row = ordered.rows == nullptr ? i : ordered.rows[i];
    const bool is_valid = is_valid_span<Key>(spans, row);
    first = {ordered.keys[i], end_place::at_key};
    last = {is_valid ? uppers[row] : ordered.keys[i], end_place::at_key};
    return is_valid;
  };
  rank_ranges<Key, Key>(backend, ordered, first_side, first_bound, last_side, last_bound, ends, ranges.data(),
                        has_directories ? &first_directory : nullptr, has_directories ? last_of : nullptr);
  return ranges;
}

template <class Key>
buffer<position_range> point_ranges(const char* call, const span_side& spans, const prepared_rows& points) {
  const auto& side = static_cast<const typed_prepared_rows<Key>&>(points);
  return span_ranges(call, spans, side, spans.includes_lower ? bound_type::lower : bound_type::upper, side,
                     spans.includes_upper ? bound_type::upper : bound_type::lower);
}

/// Calls body(ranges) with the ranges of points, in the order of the stream.
template <class Body>
void with_point_ranges(const char* call, const span_side& spans, const prepared_rows& points, const stream& s,
                       const Body& body) {
  require_spans(call, "span", spans);
  require_compact(call, points);
  require_same_groups(call, {.on = spans.lower, .by = spans.by, .groups = spans.groups}, points.kind(), points.groups(),
                      points.size() == 0);
  const device& dev = points.get_device();
  dev.invoke_in_order(dev.resolve(s), [&] {
    if (points.size() == 0 || spans.lower.size == 0) {
      body(empty_ranges(cpu_backend(dev), dev, spans.lower.size, false));
    } else {
      with_key_type(points.kind(), call, [&](auto key) { body(point_ranges<decltype(key)>(call, spans, points)); });
    }
  });
}

void write_counts(const cpu_backend& backend, std::span<const position_range> ranges, std::uint64_t* counts) {
  backend.for_each(
      ranges.size(), [&](std::size_t i) { counts[i] = ranges[i].last - ranges[i].first; }, piece_rows);
}

/// Offsets of pairs from the lengths of ranges, and room for the pairs.
join_pairs room_for_pairs(const cpu_backend& backend, const device& dev, std::span<const position_range> ranges) {
  join_pairs pairs;
  pairs.offsets = buffer<std::uint64_t>(dev, ranges.size() + 1);
  std::uint64_t* offsets = pairs.offsets.data();
  write_counts(backend, ranges, offsets);
  offsets[ranges.size()] = 0;
  backend.exclusive_scan(offsets, offsets, ranges.size() + 1);
  pairs.rows = buffer<row_number>(dev, offsets[ranges.size()]);
  return pairs;
}

}  // namespace

void count_points_in_spans(const span_side& spans, const prepared_side& points, std::span<std::uint64_t> counts,
                           const stream& s) {
  constexpr const char* call = "count_points_in_spans()";
  require_rows(call, "the output for counts", spans.lower.size, counts.size());
  with_point_ranges(call, spans, points.implementation(), s, [&](const buffer<position_range>& ranges) {
    write_counts(cpu_backend(points.implementation().get_device()), ranges.span(), counts.data());
  });
}

join_pairs points_in_spans(const span_side& spans, const prepared_side& points, const stream& s) {
  const prepared_rows& side = points.implementation();
  join_pairs pairs;
  with_point_ranges("points_in_spans()", spans, side, s, [&](const buffer<position_range>& ranges) {
    const cpu_backend backend(side.get_device());
    pairs = room_for_pairs(backend, side.get_device(), ranges.span());
    with_key_type(side.kind(), "points_in_spans()", [&](auto key) {
      const auto& typed = static_cast<const typed_prepared_rows<decltype(key)>&>(side);
      backend.for_each(
          ranges.size(),
          [&](std::size_t i) {
            row_number* to = pairs.rows.data() + pairs.offsets.data()[i];
            const position_range range = ranges.data()[i];
            for (std::size_t p = range.first; p < range.last; ++p) *to++ = typed.main_row(p);
          },
          256);
    });
  });
  return pairs;
}

void span_window_join(const span_side& spans, const window_index& points, std::span<const window_output> outputs,
                      const stream& s) {
  constexpr const char* call = "span_window_join()";
  check_outputs(call, points, spans.lower.size, outputs);
  with_point_ranges(call, spans, side_of(points), s, [&](const buffer<position_range>& ranges) {
    aggregate_ranges(call, points, ranges.span(), outputs);
  });
}

namespace join_detail {

class prepared_span_rows {
 public:
  virtual ~prepared_span_rows() = default;
  virtual void count(const span_side& left, std::uint64_t* counts) const = 0;
  virtual void sum(const span_side& left, int128* integers, double* reals) const = 0;
  [[nodiscard]] virtual join_pairs pairs(const span_side& left) const = 0;
  [[nodiscard]] virtual bool is_in_row_order() const noexcept = 0;

  device dev = device::cpu();
  scalar_kind kind = scalar_kind::opaque;
  scalar_kind value_kind = scalar_kind::opaque;  // opaque: no values
  std::size_t size = 0;
  std::uint32_t groups = 0;
};

namespace {

template <class Key>
class typed_spans final : public prepared_span_rows {
 public:
  typed_spans(const char* call, const span_side& spans, const column_view* values, const device& d)
      : includes_lower_(spans.includes_lower), includes_upper_(spans.includes_upper) {
    dev = d;
    kind = scalar_kind_of<Key>;
    size = spans.lower.size;
    groups = spans.groups;
    const cpu_backend backend(dev);
    const std::vector<std::uint8_t> valid = valid_spans(backend, spans);
    const bitmap_view bits{valid.data(), 0};
    const auto side_by = [&](const column_view& column) {
      return std::make_unique<typed_prepared_rows<Key>>(
          call, "right",
          join_side{.on = {column.kind, column.data, column.size, bits}, .by = spans.by, .groups = spans.groups}, dev,
          false);
    };
    by_lower_ = side_by(spans.lower);
    by_upper_ = side_by(spans.upper);
    make_levels(backend, static_cast<const Key*>(spans.upper.data));
    if (values == nullptr) return;
    value_kind = values->kind;
    const std::size_t n = by_lower_->main_size();
    sums_by_lower_ = prefix_sums(backend, dev, {*values, by_lower_->main_rows(), n});
    sums_by_upper_ = prefix_sums(backend, dev, {*values, by_upper_->main_rows(), n});
  }

  void count(const span_side& left, std::uint64_t* counts) const override {
    const auto found = ranges(left);
    write_counts(cpu_backend(dev), found.span(), counts);
  }
  void sum(const span_side& left, int128* integers, double* reals) const override {
    const auto found = ranges(left);
    const prefix_sums_view by_lower = sums_by_lower_.view(), by_upper = sums_by_upper_.view();
    cpu_backend(dev).for_each(
        found.size(),
        [&](std::size_t i) {
          const position_range range = found.data()[i];
          if (integers != nullptr) {
            integers[i] = range.first == range.last ? 0 : by_lower.integer(range.last, by_upper, range.first);
          } else {
            reals[i] = range.first == range.last ? 0 : by_lower.real(range.last, by_upper, range.first);
          }
        },
        piece_rows);
  }
  [[nodiscard]] join_pairs pairs(const span_side& left) const override {
    const bool closed = left.includes_lower && includes_upper_;
    if (left.includes_upper && includes_lower_) {
      return closed ? list_pairs<bound_type::upper, bound_type::lower>(left)
                    : list_pairs<bound_type::upper, bound_type::upper>(left);
    }
    return closed ? list_pairs<bound_type::lower, bound_type::lower>(left)
                  : list_pairs<bound_type::lower, bound_type::upper>(left);
  }

  [[nodiscard]] bool is_in_row_order() const noexcept override { return by_lower_->main_rows() == nullptr; }

 private:
  struct span_end {
    Key upper, reach;
  };

  /// Row numbers of a piece. Elements are written before it is known whether they count.
  class row_list {
   public:
    [[nodiscard]] row_number* data() noexcept { return rows_.data(); }
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// Where the next rows go; there is room for `count`.
    [[nodiscard]] row_number* room_for(std::size_t count) {
      if (rows_.size() < size_ + count) rows_.resize(std::max(2 * rows_.size(), size_ + count));
      return rows_.data() + size_;
    }
    void add(std::size_t count) noexcept { size_ += count; }

   private:
    std::vector<row_number> rows_;
    std::size_t size_ = 0;
  };

  static std::vector<std::uint8_t> valid_spans(const cpu_backend& backend, const span_side& spans) {
    std::vector<std::uint8_t> valid(spans.lower.size / 8 + 1, 0);
    backend.for_each(
        valid.size(),
        [&](std::size_t b) {
          for (std::size_t i = 8 * b; i < std::min(spans.lower.size, 8 * b + 8); ++i) {
            if (spans.lower.validity[i] && is_valid_span<Key>(spans, i)) {
              valid[b] = static_cast<std::uint8_t>(valid[b] | (1u << (i % 8)));
            }
          }
        },
        piece_rows / 8);
    return valid;
  }

  void make_levels(const cpu_backend& backend, const Key* uppers) {
    const std::size_t n = by_lower_->main_size();
    ends_ = buffer<span_end>(dev, n);
    span_end* const ends = ends_.data();
    backend.for_each(
        n, [&](std::size_t p) { ends[p].upper = uppers[by_lower_->main_row(p)]; }, piece_rows);
    for (std::uint32_t g = 0; g < std::max<std::uint32_t>(groups, 1); ++g) {
      const key_segment<Key> own = by_lower_->group(g).main;
      for (std::size_t p = own.first; p < own.last; ++p) {
        ends[p].reach = p == own.first ? ends[p].upper : std::max(ends[p].upper, ends[p - 1].reach);
      }
    }
    const auto add_level = [&](std::size_t below, const auto& end_of) {
      buffer<Key> level(dev, (below + fan_out - 1) / fan_out);
      backend.for_each(
          level.size(),
          [&](std::size_t b) {
            Key most = end_of(b * fan_out);
            for (std::size_t p = b * fan_out + 1; p < std::min(below, (b + 1) * fan_out); ++p) {
              most = std::max(most, end_of(p));
            }
            level.data()[b] = most;
          },
          piece_rows / fan_out);
      levels_.push_back(std::move(level));
    };
    if (n > fan_out) add_level(n, [&](std::size_t p) { return ends[p].upper; });
    while (!levels_.empty() && levels_.back().size() > fan_out) {
      const Key* const below = levels_.back().data();
      add_level(levels_.back().size(), [below](std::size_t p) { return below[p]; });
    }
  }

  /// Right spans that start at or before the upper end of a left span, less those that end before its lower end.
  [[nodiscard]] buffer<position_range> ranges(const span_side& left) const {
    const bool lower_closed = left.includes_lower && includes_upper_,
               upper_closed = left.includes_upper && includes_lower_;
    if (by_lower_->main_size() == 0) return empty_ranges(cpu_backend(dev), dev, left.lower.size, false);
    return span_ranges(call_, left, *by_upper_, lower_closed ? bound_type::lower : bound_type::upper, *by_lower_,
                       upper_closed ? bound_type::upper : bound_type::lower);
  }

  /// One pass over the left spans: the rank of a span's upper end among the lower ends, and the right spans before that
  /// which reach its lower end. Pairs are collected piece by piece, and moved to their places when all are counted: one
  /// more copy of the pairs in memory, but no second search to count them first.
  template <bound_type UpperBound, bound_type LowerBound>
  [[nodiscard]] join_pairs list_pairs(const span_side& spans) const {
    const cpu_backend backend(dev);
    join_pairs out;
    out.offsets = buffer<std::uint64_t>(dev, spans.lower.size + 1);
    std::uint64_t* const offsets = out.offsets.data();
    if (by_lower_->main_size() == 0) {
      std::fill_n(offsets, spans.lower.size + 1, 0);
      return out;
    }
    const auto left =
        clean_side<Key>(call_, "left", backend, dev, {.on = spans.lower, .by = spans.by, .groups = spans.groups});
    const auto directory = directory_for(backend, left, by_lower_->main_keys(), by_lower_->main_size());
    const auto ordered =
        order_rows(backend, dev, left, spans.groups, directory.empty() ? sorts_rows::if_many : sorts_rows::never);
    if (!left.is_complete) std::fill_n(offsets, spans.lower.size, 0);
    const auto row_of = [&](std::size_t i) { return ordered.rows == nullptr ? i : ordered.rows[i]; };
    const std::size_t pieces = (ordered.n + piece_rows - 1) / piece_rows;
    std::vector<row_list> found(pieces);
    backend.for_each_chunk(pieces, 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t p = from; p < to; ++p) {
        const std::size_t first = p * piece_rows, last = std::min(ordered.n, first + piece_rows);
        static_cast<void>(found[p].room_for(last - first));
        auto run = std::upper_bound(ordered.runs.begin(), ordered.runs.end(), first,
                                    [](std::size_t at, const group_run& r) { return at < r.last; });
        for (; run != ordered.runs.end() && run->first < last; ++run) {
          const group_view<Key> group = by_lower_->group(run->group, directory.empty() ? nullptr : &directory);
          list_run<UpperBound, LowerBound>(spans, ordered, group, std::max(first, run->first),
                                           std::min(last, run->last), offsets, found[p]);
        }
      }
    });
    offsets[spans.lower.size] = 0;
    backend.exclusive_scan(offsets, offsets, spans.lower.size + 1);
    out.rows = buffer<row_number>(dev, offsets[spans.lower.size]);
    backend.for_each_chunk(pieces, 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t p = from; p < to; ++p) {
        const row_number* next = found[p].data();
        const std::size_t last = std::min(ordered.n, (p + 1) * piece_rows);
        if (ordered.rows == nullptr) {
          std::copy_n(next, found[p].size(), out.rows.data() + offsets[p * piece_rows]);
        } else {
          for (std::size_t i = p * piece_rows; i < last; ++i) {
            const std::size_t row = row_of(i), count = offsets[row + 1] - offsets[row];
            std::copy_n(next, count, out.rows.data() + offsets[row]);
            next += count;
          }
        }
        found[p] = {};
      }
    });
    return out;
  }

  /// Appends the right rows of ordered left rows [from, to) of one group to `found`, and writes their numbers to
  /// counts.
  template <bound_type UpperBound, bound_type LowerBound>
  void list_run(const span_side& spans, const ordered_rows<Key>& left, const group_view<Key>& group, std::size_t from,
                std::size_t to, std::uint64_t* counts, row_list& found) const {
    const auto* uppers = static_cast<const Key*>(spans.upper.data);
    group_ranker<UpperBound, Key> ranker(group);
    Key ends[block_rows];
    std::uint32_t ranks[block_rows];
    bool is_valid[block_rows];
    for (std::size_t at = from; at < to; at += block_rows) {
      const std::size_t count = std::min(block_rows, to - at);
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t row = left.rows == nullptr ? at + j : left.rows[at + j];
        is_valid[j] = is_valid_span<Key>(spans, row);
        ends[j] = is_valid[j] ? uppers[row] : left.keys[at + j];
      }
      ranker.rank(ends, count, ranks);
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t last = group.main.first + ranks[j];
        __builtin_prefetch(ends_.data() + (last - std::min<std::size_t>(last, 1)));
        __builtin_prefetch(ends_.data() + (last - std::min<std::size_t>(last, 3)));
      }
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t row = left.rows == nullptr ? at + j : left.rows[at + j], before = found.size();
        if (is_valid[j]) {
          list_near<LowerBound>(group.main.first, group.main.first + ranks[j], left.keys[at + j], found);
        }
        counts[row] = found.size() - before;
      }
    }
  }

  /// As list(), without a branch for each of the last two positions: short spans in the order of their lower ends are
  /// in these, and whether a span reaches q cannot be predicted.
  template <bound_type Bound>
  void list_near(std::size_t first, std::size_t last, Key q, row_list& found) const {
    const span_end* const ends = ends_.data();
    if (last - first < 2 || (last - first > 2 && !is_before<Bound>(ends[last - 3].reach, q))) {
      list<Bound>(first, last, q, found);
      return;
    }
    row_number* const to = found.room_for(2);
    const std::size_t reaches = is_before<Bound>(ends[last - 2].upper, q) ? 0 : 1;
    to[0] = by_lower_->main_row(last - 2);
    to[reaches] = by_lower_->main_row(last - 1);
    found.add(reaches + (is_before<Bound>(ends[last - 1].upper, q) ? 0 : 1));
  }

  /// Appends the rows of the positions [first, last) of a group whose upper end is not before q, in ascending order of
  /// positions. From the end, because spans that start shortly before q are those that reach it, if spans are short.
  template <bound_type Bound>
  void list(std::size_t first, std::size_t last, Key q, row_list& found) const {
    const std::size_t before = found.size();
    const span_end* const ends = ends_.data();
    for (std::size_t p = last; p > first && !is_before<Bound>(ends[p - 1].reach, q);) {
      // The largest block that ends at p and has no end at or after q. It does not have all positions from `first` on.
      std::size_t block = 1;
      for (std::size_t level = 0; level < levels_.size() && p % (block * fan_out) == 0; ++level) {
        if (!is_before<Bound>(levels_[level].data()[p / (block * fan_out) - 1], q)) break;
        block *= fan_out;
      }
      p -= block;
      if (block == 1 && !is_before<Bound>(ends[p].upper, q)) {
        *found.room_for(1) = by_lower_->main_row(p);
        found.add(1);
      }
    }
    std::reverse(found.data() + before, found.data() + found.size());
  }

  static constexpr const char* call_ = "prepared_spans";
  bool includes_lower_, includes_upper_;
  std::unique_ptr<typed_prepared_rows<Key>> by_lower_, by_upper_;
  buffer<span_end> ends_;
  std::vector<buffer<Key>> levels_;
  prefix_sums sums_by_lower_, sums_by_upper_;
};

std::unique_ptr<prepared_span_rows> make_spans(const span_side& spans, const column_view* values, const device& dev,
                                               const stream& s) {
  constexpr const char* call = "prepared_spans::build()";
  require_cpu(call, dev);
  require_spans(call, "right", spans);
  if (values != nullptr) require_rows(call, "the value column", spans.lower.size, values->size);
  std::unique_ptr<prepared_span_rows> rows;
  dev.invoke_in_order(dev.resolve(s), [&] {
    rows = with_key_type(spans.lower.kind, call, [&](auto key) -> std::unique_ptr<prepared_span_rows> {
      return std::make_unique<typed_spans<decltype(key)>>(call, spans, values, dev);
    });
  });
  return rows;
}

void check_left_spans(const char* call, const span_side& left, const prepared_span_rows& right, std::size_t outputs) {
  require_spans(call, "left", left);
  require_rows(call, "the output", left.lower.size, outputs);
  require_same_groups(call, {.on = left.lower, .by = left.by, .groups = left.groups}, right.kind, right.groups,
                      right.size == 0);
}

}  // namespace
}  // namespace join_detail

prepared_spans::prepared_spans(std::unique_ptr<join_detail::prepared_span_rows> rows) : rows_(std::move(rows)) {}
prepared_spans::prepared_spans(prepared_spans&&) noexcept = default;
prepared_spans& prepared_spans::operator=(prepared_spans&&) noexcept = default;
prepared_spans::~prepared_spans() = default;
std::size_t prepared_spans::size() const noexcept { return rows_->size; }
bool prepared_spans::is_in_row_order() const noexcept { return rows_->is_in_row_order(); }

prepared_spans prepared_spans::build(const span_side& spans, const device& dev, const stream& s) {
  return prepared_spans(join_detail::make_spans(spans, nullptr, dev, s));
}
prepared_spans prepared_spans::build(const span_side& spans, const column_view& values, const device& dev,
                                     const stream& s) {
  return prepared_spans(join_detail::make_spans(spans, &values, dev, s));
}

void prepared_spans::count_overlaps(const span_side& left, std::span<std::uint64_t> counts, const stream& s) const {
  join_detail::check_left_spans("count_overlaps()", left, *rows_, counts.size());
  rows_->dev.invoke_in_order(rows_->dev.resolve(s), [&] { rows_->count(left, counts.data()); });
}

void prepared_spans::sum_overlaps(const span_side& left, std::span<int128> sums, const stream& s) const {
  join_detail::check_left_spans("sum_overlaps()", left, *rows_, sums.size());
  if (rows_->value_kind == scalar_kind::opaque || join_detail::is_float_kind(rows_->value_kind)) {
    throw error("sum_overlaps(): the spans were built without a column of integers; pass one to build().");
  }
  rows_->dev.invoke_in_order(rows_->dev.resolve(s), [&] { rows_->sum(left, sums.data(), nullptr); });
}

void prepared_spans::sum_overlaps(const span_side& left, std::span<double> sums, const stream& s) const {
  join_detail::check_left_spans("sum_overlaps()", left, *rows_, sums.size());
  if (!join_detail::is_float_kind(rows_->value_kind)) {
    throw error("sum_overlaps(): the spans were built without a column of f32 or f64; pass one to build().");
  }
  rows_->dev.invoke_in_order(rows_->dev.resolve(s), [&] { rows_->sum(left, nullptr, sums.data()); });
}

join_pairs prepared_spans::overlaps(const span_side& left, const stream& s) const {
  join_detail::check_left_spans("overlaps()", left, *rows_, left.lower.size);
  join_pairs pairs;
  rows_->dev.invoke_in_order(rows_->dev.resolve(s), [&] { pairs = rows_->pairs(left); });
  return pairs;
}

}  // namespace espalier
