// asof_partitions.hpp - as-of join of sides that are not in key order: partitions that fit the cache, and no sort of a
// whole side.
//
// Both sides are distributed to the same partitions of (group, key), and then each partition is joined by one thread:
// its right rows go to buckets, half as many rows as buckets, an insertion sort orders the few rows of a bucket, and a
// left row is searched in its bucket. So a row is read and written once between the caller's columns and its match,
// the left side is not sorted at all, and what is accessed at random (buckets, sorted rows) is a partition.
//
// The place of a row in the order (group, key) is estimated: each group gets as many slots as it needs buckets, in the
// order of groups, and between its least and its greatest key the slot is interpolated. Slots ascend with (group, key).
// A partition is a range of 2^k slots, a slot of it is a bucket. The estimate is good where keys of a group are spread;
// where most rows are in few partitions, the join is not made here but by sorts.
//
// Large sides are distributed in rounds: a round takes the rows of some consecutive partitions, so that not all rows of
// both sides are copied at once. Each round passes over the partition numbers (2 bytes) of all rows.
//
// A left row whose match is not in its partition (it is before all right rows of the partition, for example) is
// pending. Its match is the last right row of the partitions before or the first of those after, which are known when
// all partitions were joined.
#pragma once

#include <bit>
#include <vector>

#include "espalier/join/asof_join.hpp"
#include "join/side.hpp"

namespace espalier::join_detail {

/// Slots of (group, key): see above.
template <class Key>
class slot_estimate {
  using word = typename key_codec<Key>::word;

 public:
  static constexpr std::size_t slots_per_row = 2;

  slot_estimate(const cpu_backend& backend, const device& dev, const clean_rows<Key>& right, std::uint32_t groups) {
    const std::size_t count = std::max<std::uint32_t>(groups, 1);
    const std::size_t parts = std::min(parts_for(backend, right.n), right.n / count + 1);
    const buffer<extent> extents(dev, parts * count);
    for_each_part(backend, parts, right.n, [&](std::size_t p, std::size_t first, std::size_t last) {
      extent* const own = extents.data() + p * count;
      std::fill_n(own, count, extent{});
      if (right.codes == nullptr) {
        word least = ~word{0}, most = 0;
        for (std::size_t i = first; i < last; ++i) {
          const word w = word_of(right.keys[i]);
          least = std::min(least, w);
          most = std::max(most, w);
        }
        *own = {least, most, last - first};
        return;
      }
      for (std::size_t i = first; i < last; ++i) {
        const word w = word_of(right.keys[i]);
        extent& e = own[right.codes[i]];
        e.least = std::min(e.least, w);
        e.most = std::max(e.most, w);
        ++e.rows;
      }
    });
    groups_ = buffer<group>(dev, count);
    for (std::size_t g = 0; g < count; ++g) {
      extent all;
      for (std::size_t p = 0; p < parts; ++p) {
        const extent& e = extents.data()[p * count + g];
        all = {std::min(all.least, e.least), std::max(all.most, e.most), all.rows + e.rows};
      }
      groups_.data()[g] = all.rows == 0 ? group{} : group_of(all, slots_);
      slots_ += all.rows * slots_per_row;
    }
  }

  [[nodiscard]] std::uint64_t slots() const noexcept { return slots_; }
  [[nodiscard]] bool has_rows(std::uint32_t g) const { return groups_.data()[g].has_rows; }
  /// The slot of a key in a group with right rows. Keys outside of those of the group get its first or its last slot.
  [[nodiscard]] std::uint64_t slot_of(std::uint32_t g, Key key) const {
    const group& in = groups_.data()[g];
    const word w = word_of(key);
    const std::uint64_t from_least = w < in.least ? 0 : std::min<std::uint64_t>(w - in.least, in.span);
    return in.first + static_cast<std::uint64_t>((static_cast<uint128>(from_least << in.shift) * in.factor) >> 64);
  }

 private:
  struct extent {
    word least = ~word{0}, most = 0;
    std::uint64_t rows = 0;
  };
  struct group {
    std::uint64_t least = 0, span = 0, factor = 0;
    std::uint64_t first = 0;
    unsigned shift = 0;
    bool has_rows = false;
  };

  static word word_of(Key key) { return key_codec<Key>::encode(normalized(key)); }

  /// Distances from the least key are shifted to 64 bits, so that the factor, which is between the number of slots and
  /// twice that, keeps all its bits: slot = distance * slots / (span + 1), rounded down, or one less.
  static group group_of(const extent& all, std::uint64_t first) {
    group out;
    out.least = all.least;
    out.span = all.most - all.least;
    out.first = first;
    out.has_rows = true;
    const auto width = static_cast<unsigned>(std::bit_width(out.span));
    if (width == 0) return out;
    out.shift = 64 - width;
    const uint128 slots = all.rows * slots_per_row;
    out.factor = static_cast<std::uint64_t>((slots << width) / (static_cast<uint128>(out.span) + 1));
    return out;
  }

  buffer<group> groups_;
  std::uint64_t slots_ = 0;
};

/// A row on its way to its partition. Without groups the code is 0.
template <class Key>
struct partitioned_row {
  Key key;
  std::uint32_t code;
  row_number row;
};

/// The partitions of a side, and the rows of those of one round: partition by partition, rows of a partition in the
/// order of the side.
template <class Key>
struct partitioned_side {
  const clean_rows<Key>* in = nullptr;
  std::size_t parts = 0;               // the side is distributed in, in parallel
  buffer<std::uint16_t> partition_of;  // for each row
  buffer<std::size_t> next;            // part by part, for each partition: the position of its next row
  std::vector<std::size_t> begin;      // position of the first row of each partition, and the end
  buffer<partitioned_row<Key>> rows;   // of this round
  std::size_t first_position = 0;      // of this round

  [[nodiscard]] std::span<const partitioned_row<Key>> partition(std::size_t p) const {
    return {rows.data() + (begin[p] - first_position), rows_of(p)};
  }
  [[nodiscard]] std::size_t rows_of(std::size_t p) const { return begin[p + 1] - begin[p]; }
  /// Rows of the partition of a row, on average over rows.
  [[nodiscard]] double rows_per_row() const {
    double squares = 0;
    for (std::size_t p = 0; p + 1 < begin.size(); ++p) {
      const auto size = static_cast<double>(rows_of(p));
      squares += size * size;
    }
    return begin.back() == 0 ? 0 : squares / static_cast<double>(begin.back());
  }
};

template <class Key>
class partitioned_asof_join {
 public:
  static constexpr std::uint32_t most_groups = std::uint32_t{1} << 14;  // whose estimates fit the L2 cache

  partitioned_asof_join(const cpu_backend& backend, const device& dev, const clean_rows<Key>& left,
                        const clean_rows<Key>& right, std::uint32_t groups, const asof_options& options,
                        const tolerance_of<Key>& tolerance, row_number* out)
      : backend_(backend),
        dev_(dev),
        left_(left),
        right_(right),
        options_(options),
        tolerance_(tolerance),
        out_(out),
        estimate_(backend, dev, right, groups) {
    while (estimate_.slots() >> shift_ >= most_partitions) ++shift_;
    partitions_ = static_cast<std::size_t>(estimate_.slots() >> shift_) + 1;
  }

  /// Writes the matches of all clean left rows. Returns false, and has written nothing that matters, if most rows of a
  /// side are in few partitions.
  [[nodiscard]] bool run() const {
    partitioned_side<Key> right, left;
    if (!assign(right_, right, false) || !assign(left_, left, true)) return false;
    using enum bound_type;
    const bool exact = options_.allow_exact_matches;
    switch (options_.direction) {
      case asof_direction::backward:
        exact ? join<upper, upper, true, false>(left, right) : join<lower, lower, true, false>(left, right);
        break;
      case asof_direction::forward:
        exact ? join<lower, lower, false, true>(left, right) : join<upper, upper, false, true>(left, right);
        break;
      case asof_direction::nearest:
        exact ? join<upper, upper, true, true>(left, right) : join<lower, upper, true, true>(left, right);
        break;
    }
    return true;
  }

 private:
  using element = partitioned_row<Key>;
  static constexpr std::size_t most_partitions = std::size_t{1} << 10;
  static constexpr std::size_t line_rows = 8;  // of one partition, written together

  struct pending_row {
    element left;
    element below, above;  // that are in the partition
    bool has_below, has_above;
  };

  /// Finds the partition of each row, and its position in a stable distribution. Left rows of groups without right rows
  /// are left out and get no_row. Returns false if the rows are in too few partitions.
  bool assign(const clean_rows<Key>& in, partitioned_side<Key>& side, bool is_left) const {
    return in.codes == nullptr ? assign<false>(in, side, is_left) : assign<true>(in, side, is_left);
  }
  template <bool Grouped>
  bool assign(const clean_rows<Key>& in, partitioned_side<Key>& side, bool is_left) const {
    side.in = &in;
    side.parts = parts_for(backend_, in.n);
    side.next = buffer<std::size_t>(dev_, side.parts * partitions_);
    side.partition_of = buffer<std::uint16_t>(dev_, in.n);
    static_assert(most_partitions < left_out);
    for_each_part(backend_, side.parts, in.n, [&](std::size_t part, std::size_t first, std::size_t last) {
      std::size_t* const counts = side.next.data() + part * partitions_;
      std::fill_n(counts, partitions_, 0);
      std::uint16_t* const to = side.partition_of.data();
      for (std::size_t i = first; i < last; ++i) {
        const std::uint32_t code = Grouped ? in.codes[i] : 0;
        if (Grouped && is_left && !estimate_.has_rows(code)) {
          to[i] = left_out;
          out_[in.rows == nullptr ? i : in.rows[i]] = no_row;
          continue;
        }
        const auto p = static_cast<std::uint16_t>(estimate_.slot_of(code, in.keys[i]) >> shift_);
        to[i] = p;
        ++counts[p];
      }
    });
    side.begin.assign(partitions_ + 1, 0);
    std::size_t total = 0;
    for (std::size_t p = 0; p < partitions_; ++p) {
      side.begin[p] = total;
      for (std::size_t part = 0; part < side.parts; ++part)
        total += std::exchange(side.next.data()[part * partitions_ + p], total);
    }
    side.begin[partitions_] = total;
    constexpr double most_skew = 8;
    const double even = static_cast<double>(total) / static_cast<double>(partitions_);
    return side.rows_per_row() <= most_skew * (even + 1'000);
  }

  /// The first partitions of the rounds, and the end. More rounds would save little memory, because partition numbers
  /// stay: 2^23 x 2^23 rows took 1.15 to 1.5 times the CPU time in 16 rounds, and 1 byte per row less.
  [[nodiscard]] std::vector<std::size_t> rounds_of(const partitioned_side<Key>& left,
                                                   const partitioned_side<Key>& right) const {
    constexpr std::size_t bytes_at_once = std::size_t{1} << 25, most_rounds = 8;
    const std::size_t rows = left.begin.back() + right.begin.back();
    const std::size_t rounds = std::clamp<std::size_t>(rows * sizeof(element) / bytes_at_once, 1, most_rounds);
    std::vector<std::size_t> first{0};
    for (std::size_t p = 1; p < partitions_; ++p) {
      if (left.begin[p] + right.begin[p] >= rows / rounds * first.size() && first.size() < rounds) first.push_back(p);
    }
    first.push_back(partitions_);
    return first;
  }

  /// Allocates the rows of the largest round: one block, because the device's pool keeps blocks that are too small for
  /// the next round.
  void allocate_rows(partitioned_side<Key>& side, const std::vector<std::size_t>& rounds) const {
    std::size_t most = 0;
    for (std::size_t r = 0; r + 1 < rounds.size(); ++r)
      most = std::max(most, side.begin[rounds[r + 1]] - side.begin[rounds[r]]);
    side.rows = buffer<element>(dev_, most);
  }

  /// Copies the rows of partitions [first, last).
  void distribute(partitioned_side<Key>& side, std::size_t first, std::size_t last) const {
    side.first_position = side.begin[first];
    for_each_part(backend_, side.parts, side.in->n, [&](std::size_t part, std::size_t from, std::size_t to) {
      std::size_t* const next = side.next.data() + part * partitions_;
      side.in->codes == nullptr ? scatter<false>(side, first, last, from, to, next)
                                : scatter<true>(side, first, last, from, to, next);
    });
  }

  /// Lines of several rows are collected near the core and written together: a partition is far from the others, and
  /// a store to each of them in turn would wait for memory.
  template <bool Grouped>
  void scatter(const partitioned_side<Key>& side, std::size_t first_partition, std::size_t last_partition,
               std::size_t from, std::size_t to, std::size_t* next) const {
    struct alignas(64) line {
      element rows[line_rows];
    };
    const clean_rows<Key>& in = *side.in;
    element* const out = side.rows.data();
    const std::size_t partitions = last_partition - first_partition;
    // Positions are counted from the first row of the round.
    std::vector<std::size_t> at(partitions), begin(partitions);
    for (std::size_t p = 0; p < partitions; ++p) at[p] = begin[p] = next[first_partition + p] - side.first_position;
    std::vector<line> lines(partitions);
    constexpr std::size_t block = 512;
    std::uint16_t taken[block];  // rows of the block that are in the round; found without a branch
    for (std::size_t i = from; i < to; i += block) {
      const std::size_t size = std::min(block, to - i);
      const std::uint16_t* const of = side.partition_of.data() + i;
      std::size_t count = 0;
      for (std::size_t j = 0; j < size; ++j) {
        taken[count] = static_cast<std::uint16_t>(j);
        count += std::size_t{of[j]} - first_partition < partitions ? 1 : 0;  // wraps around below the first one
      }
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t row = i + taken[k], p = of[taken[k]] - first_partition;
        const std::size_t position = at[p]++, slot = position % line_rows;
        element* const rows = lines[p].rows;
        rows[slot] = {in.keys[row], Grouped ? in.codes[row] : 0,
                      in.rows == nullptr ? static_cast<row_number>(row) : in.rows[row]};
        if (slot != line_rows - 1) continue;
        if (position - slot >= begin[p]) {
          std::memcpy(static_cast<void*>(out + (position - slot)), rows, line_rows * sizeof(element));
        } else {
          std::copy(rows + begin[p] % line_rows, rows + line_rows, out + begin[p]);
        }
      }
    }
    for (std::size_t p = 0; p < partitions; ++p) {
      const std::size_t rest = std::max(begin[p], at[p] - at[p] % line_rows);
      if (rest < at[p])
        std::copy(lines[p].rows + rest % line_rows, lines[p].rows + rest % line_rows + (at[p] - rest), out + rest);
    }
  }

  template <bound_type Bound>
  static bool is_before_row(std::uint32_t code, Key key, const element& q) {
    return (code < q.code) | ((code == q.code) & is_before<Bound>(key, q.key));  // without a branch
  }

  /// The right rows of one partition, sorted, with the first position of each bucket.
  class sorted_partition {
   public:
    sorted_partition(const device& dev, std::size_t most_rows, std::size_t buckets)
        : buckets_(buckets), begin_(dev, buckets + 1), slots_(dev, most_rows), rows_(dev, most_rows + ahead) {}

    void take(const slot_estimate<Key>& estimate, std::span<const element> rows) {
      size_ = rows.size();
      std::uint32_t* const begin = begin_.data();
      std::fill_n(begin, buckets_ + 1, 0u);
      for (std::size_t i = 0; i < size_; ++i) {
        const std::size_t slot = estimate.slot_of(rows[i].code, rows[i].key) & (buckets_ - 1);
        slots_.data()[i] = static_cast<std::uint32_t>(slot);
        ++begin[slot];
      }
      std::uint32_t total = 0;  // begin[b] is the end of bucket b, and after the scatter its start
      for (std::size_t b = 0; b <= buckets_; ++b) begin[b] = total += begin[b];
      element* const to = rows_.data();
      for (std::size_t i = size_; i > 0; --i) to[--begin[slots_.data()[i - 1]]] = rows[i - 1];
      std::fill_n(to + size_, ahead, element{std::numeric_limits<Key>::max(), no_group, no_row});
      sort();
    }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] const element& operator[](std::size_t i) const { return rows_.data()[i]; }

    /// The number of rows before q. Rows of later buckets are never before q, so the first rows of a bucket are
    /// compared without a look at its end.
    template <bound_type Bound>
    [[nodiscard]] std::size_t rank(std::size_t slot, const element& q) const {
      const std::uint32_t* const begin = begin_.data() + slot;
      const element* const from = rows_.data() + begin[0];
      std::size_t before = 0;
      for (std::size_t j = 0; j < ahead; ++j) before += is_before_row<Bound>(from[j].code, from[j].key, q) ? 1 : 0;
      if (before < ahead) return std::min<std::size_t>(begin[0] + before, size_);
      const element* const end = rows_.data() + begin[1];
      return static_cast<std::size_t>(
          std::partition_point(std::min(from + ahead, end), end,
                               [&](const element& e) { return is_before_row<Bound>(e.code, e.key, q); }) -
          rows_.data());
    }

   private:
    static constexpr std::size_t ahead = 3;

    static bool is_less(const element& a, const element& b) {
      return a.code < b.code || (a.code == b.code && a.key < b.key);
    }
    /// An insertion sort, unless many rows are in few buckets.
    void sort() {
      element* const rows = rows_.data();
      std::size_t moves = 8 * size_;
      for (std::size_t i = 1; i < size_; ++i) {
        if (!is_less(rows[i], rows[i - 1])) continue;
        const element moved = rows[i];
        std::size_t j = i;
        for (; j > 0 && is_less(moved, rows[j - 1]); --j) rows[j] = rows[j - 1];
        rows[j] = moved;
        if (i - j > moves) {
          std::sort(rows, rows + size_, [](const element& a, const element& b) {
            return is_less(a, b) || (!is_less(b, a) && a.row < b.row);
          });
          return;
        }
        moves -= i - j;
      }
    }

    std::size_t buckets_, size_ = 0;
    buffer<std::uint32_t> begin_, slots_;
    buffer<element> rows_;
  };

  /// The row of two candidates, which may be null.
  template <bool UsesBelow, bool UsesAbove>
  [[nodiscard]] row_number choose(const element& q, const element* below, const element* above) const {
    const element* found = UsesBelow ? below : above;
    if (found != nullptr && found->code != q.code) found = nullptr;
    if constexpr (UsesBelow && UsesAbove) {
      if (above != nullptr && above->code == q.code &&
          (found == nullptr || distance_between(above->key, q.key) < distance_between(found->key, q.key))) {
        found = above;
      }
    }
    return found != nullptr && tolerance_.allows(q.key, found->key) ? found->row : no_row;
  }

  template <bound_type Below, bound_type Above, bool UsesBelow, bool UsesAbove>
  void join(partitioned_side<Key>& left, partitioned_side<Key>& right) const {
    std::size_t most_rows = 0;
    for (std::size_t p = 0; p < partitions_; ++p) most_rows = std::max(most_rows, right.rows_of(p));
    const std::size_t buckets = std::size_t{1} << shift_;
    std::vector<std::vector<pending_row>> pending(partitions_);
    std::vector<element> first(partitions_), last(partitions_);  // right rows; of partitions that have some
    const auto join_partitions = [&](std::size_t from, std::size_t to) {
      sorted_partition sorted(dev_, most_rows, buckets);
      for (std::size_t p = from; p < to; ++p) {
        sorted.take(estimate_, right.partition(p));
        const std::size_t size = sorted.size();
        if (size != 0) {
          first[p] = sorted[0];
          last[p] = sorted[size - 1];
        }
        for (const element& q : left.partition(p)) {
          const std::size_t slot = estimate_.slot_of(q.code, q.key) & (buckets - 1);
          const std::size_t below = sorted.template rank < UsesBelow ? Below : Above > (slot, q);
          std::size_t above = below;
          if constexpr (UsesBelow && UsesAbove && Below != Above) above = sorted.template rank<Above>(slot, q);
          if ((UsesBelow && below == 0) || (UsesAbove && above == size)) {
            const bool has_below = UsesBelow && below != 0, has_above = UsesAbove && above != size;
            pending[p].push_back({q, has_below ? sorted[below - 1] : element{}, has_above ? sorted[above] : element{},
                                  has_below, has_above});
            continue;
          }
          out_[q.row] = choose<UsesBelow, UsesAbove>(q, UsesBelow ? &sorted[below - 1] : nullptr,
                                                     UsesAbove ? &sorted[above] : nullptr);
        }
      }
    };
    const std::vector<std::size_t> rounds = rounds_of(left, right);
    allocate_rows(right, rounds);
    allocate_rows(left, rounds);
    for (std::size_t r = 0; r + 1 < rounds.size(); ++r) {
      distribute(right, rounds[r], rounds[r + 1]);
      distribute(left, rounds[r], rounds[r + 1]);
      backend_.for_each_chunk(rounds[r + 1] - rounds[r], 1, [&](std::size_t from, std::size_t to) {
        join_partitions(rounds[r] + from, rounds[r] + to);
      });
    }
    // The nearest rows of other partitions.
    std::vector<const element*> before(partitions_, nullptr), after(partitions_, nullptr);
    for (std::size_t p = 1; p < partitions_; ++p) before[p] = right.rows_of(p - 1) == 0 ? before[p - 1] : &last[p - 1];
    for (std::size_t p = partitions_ - 1; p > 0; --p) after[p - 1] = right.rows_of(p) == 0 ? after[p] : &first[p];
    backend_.for_each_chunk(partitions_, 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t p = from; p < to; ++p) {
        for (const pending_row& row : pending[p]) {
          out_[row.left.row] = choose<UsesBelow, UsesAbove>(row.left, row.has_below ? &row.below : before[p],
                                                            row.has_above ? &row.above : after[p]);
        }
      }
    });
  }

  static constexpr std::uint16_t left_out = 0xffff;

  const cpu_backend& backend_;
  const device& dev_;
  const clean_rows<Key>& left_;
  const clean_rows<Key>& right_;
  const asof_options& options_;
  const tolerance_of<Key>& tolerance_;
  row_number* out_;
  slot_estimate<Key> estimate_;
  unsigned shift_ = 12;  // so that a partition has about 2,048 right rows, or more where there are too many partitions
  std::size_t partitions_ = 0;
};

}  // namespace espalier::join_detail
