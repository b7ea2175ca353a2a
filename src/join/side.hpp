// side.hpp - a side of a join on its way into key order.
//
//   join_side -> clean_rows    rows that can match: the key is neither NULL nor NaN, and the row has a group
//             -> ordered_rows  group by group; in a group in key order, and equal keys in row order
//
// Invariants of clean_rows: rows ascend; codes are less than the number of groups. Arrays of the caller are used where
// every row can match; copies are made otherwise.
// Invariants of ordered_rows: the runs cover [0, n) without gaps and have different groups, in ascending order; keys of
// a run ascend, if order_rows() was asked to sort them.
#pragma once

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "join/keys.hpp"
#include "join/rank.hpp"

namespace espalier::join_detail {

inline constexpr std::size_t piece_rows = std::size_t{1} << 14;
inline constexpr std::size_t many_queries = std::size_t{1} << 16;

/// body(c, first, last) for each of `chunks` nearly equal parts of [0, n), in parallel.
template <class Body>
void for_each_part(const cpu_backend& backend, std::size_t chunks, std::size_t n, const Body& body) {
  backend.for_each_chunk(chunks, 1, [&](std::size_t from, std::size_t to) {
    for (std::size_t c = from; c < to; ++c)
      body(c, n / chunks * c + std::min(c, n % chunks), n / chunks * (c + 1) + std::min(c + 1, n % chunks));
  });
}
/// Parts for a loop of n rows: one with one thread, otherwise some for each thread.
[[nodiscard]] inline std::size_t parts_for(const cpu_backend& backend, std::size_t n) {
  if (backend.threads() == 1) return 1;
  return std::clamp<std::size_t>(n / piece_rows, 1, std::size_t{4} * backend.threads());
}

template <class Key>
struct clean_rows {
  const Key* keys = nullptr;
  const std::uint32_t* codes = nullptr;  // null: one group
  const row_number* rows = nullptr;      // null: row i is row i of the side
  std::size_t n = 0;
  bool is_sorted = false;            // over all groups
  bool is_sorted_in_groups = false;  // follows from is_sorted
  bool is_complete = true;           // no row was left out
  buffer<Key> own_keys;
  buffer<std::uint32_t> own_codes;
  buffer<row_number> own_rows;
};

template <class Key>
[[nodiscard]] bool has_ascending_keys(const cpu_backend& backend, const Key* keys, std::size_t n) {
  std::atomic<bool> ascends{true};
  for_each_part(backend, parts_for(backend, n), n, [&](std::size_t, std::size_t first, std::size_t last) {
    constexpr std::size_t step = 1024;  // between two looks at the flag
    for (std::size_t from = std::max<std::size_t>(first, 1); from < last; from += step) {
      if (!ascends.load(std::memory_order_relaxed)) return;
      const std::size_t to = std::min(last, from + step);
      bool all = true;
      for (std::size_t i = from; i < to; ++i) all &= keys[i - 1] <= keys[i];
      if (!all) ascends.store(false, std::memory_order_relaxed);
    }
  });
  return ascends.load();
}

/// One pass in row order with the last key of each group.
template <class Key>
[[nodiscard]] bool has_ascending_groups(const Key* keys, const std::uint32_t* codes, std::size_t n,
                                        std::uint32_t groups) {
  std::vector<Key> last(groups, std::numeric_limits<Key>::lowest());
  if constexpr (std::is_floating_point_v<Key>)
    std::fill(last.begin(), last.end(), -std::numeric_limits<Key>::infinity());
  for (std::size_t i = 0; i < n; ++i) {
    Key& before = last[codes[i]];
    if (keys[i] < before) return false;
    before = keys[i];
  }
  return true;
}

/// What one pass over codes, validity and, for floats, NaN finds.
struct row_check {
  bool has_bad_code = false;
  bool has_invalid = false;
};
template <class Key>
[[nodiscard]] row_check check_rows(const cpu_backend& backend, const join_side& side) {
  std::atomic<bool> bad{false}, invalid{false};
  const auto* keys = static_cast<const Key*>(side.on.data);
  const std::size_t n = side.on.size;
  if (side.by.empty() && !side.on.validity && !std::is_floating_point_v<Key>) return {};
  for_each_part(backend, parts_for(backend, n), n, [&](std::size_t, std::size_t first, std::size_t last) {
    bool found_bad = false, found_invalid = false;
    if (!side.by.empty()) {
      const std::uint32_t* codes = side.by.data();
      const std::uint32_t groups = side.groups;
      // A signed comparison, because SSE2 has no unsigned one.
      const auto signed_order = [](std::uint32_t x) { return static_cast<std::int32_t>(x ^ 0x80000000u); };
      const std::int32_t limit = signed_order(groups - 1);
      std::int32_t beyond = 0;
      for (std::size_t i = first; i < last; ++i) beyond |= signed_order(codes[i]) > limit || groups == 0 ? 1 : 0;
      for (std::size_t i = first; i < last && beyond != 0; ++i) {
        found_invalid |= codes[i] == no_group;
        found_bad |= codes[i] != no_group && codes[i] >= groups;
      }
    }
    if constexpr (std::is_floating_point_v<Key>) {
      bool nan = false;
      for (std::size_t i = first; i < last; ++i) nan |= keys[i] != keys[i];
      found_invalid |= nan;
    }
    if (side.on.validity) {
      for (std::size_t i = first; i < last && !found_invalid; ++i) found_invalid = !side.on.validity[i];
    }
    if (found_bad) bad.store(true, std::memory_order_relaxed);
    if (found_invalid) invalid.store(true, std::memory_order_relaxed);
  });
  return {bad.load(), invalid.load()};
}

/// Copies the rows that can match.
template <class Key>
void copy_valid_rows(const cpu_backend& backend, const device& dev, const join_side& side, clean_rows<Key>& out) {
  const auto* keys = static_cast<const Key*>(side.on.data);
  const bool grouped = !side.by.empty();
  const auto is_valid = [&](std::size_t i) {
    return !is_nan_key(keys[i]) && side.on.validity[i] && (!grouped || side.by[i] != no_group);
  };
  const std::size_t chunks = parts_for(backend, side.on.size);
  std::vector<std::size_t> begin(chunks + 1, 0);
  for_each_part(backend, chunks, side.on.size, [&](std::size_t c, std::size_t first, std::size_t last) {
    std::size_t valid = 0;
    for (std::size_t i = first; i < last; ++i) valid += static_cast<std::size_t>(is_valid(i));
    begin[c + 1] = valid;
  });
  for (std::size_t c = 0; c < chunks; ++c) begin[c + 1] += begin[c];
  out.n = begin[chunks];
  out.own_keys = buffer<Key>(dev, out.n);
  out.own_rows = buffer<row_number>(dev, out.n);
  if (grouped) out.own_codes = buffer<std::uint32_t>(dev, out.n);
  for_each_part(backend, chunks, side.on.size, [&](std::size_t c, std::size_t first, std::size_t last) {
    std::size_t at = begin[c];
    for (std::size_t i = first; i < last; ++i) {
      if (!is_valid(i)) continue;
      out.own_keys.data()[at] = keys[i];
      out.own_rows.data()[at] = static_cast<row_number>(i);
      if (grouped) out.own_codes.data()[at] = side.by[i];
      ++at;
    }
  });
  out.keys = out.own_keys.data();
  out.rows = out.own_rows.data();
  out.codes = grouped ? out.own_codes.data() : nullptr;
  out.is_complete = out.n == side.on.size;
}

/// Checks a side and leaves out rows that match nothing. Throws `error` for codes that are not less than the number of
/// groups.
template <class Key>
[[nodiscard]] clean_rows<Key> clean_side(const char* call, const char* name, const cpu_backend& backend,
                                         const device& dev, const join_side& side, bool wants_order = true) {
  clean_rows<Key> out;
  const row_check found = check_rows<Key>(backend, side);
  if (found.has_bad_code) {
    throw error(std::string(call) + ": a group code of the " + name + " side is not less than the number of groups (" +
                std::to_string(side.groups) + "); pass codes of a group_encoder and its groups().");
  }
  if (found.has_invalid) {
    copy_valid_rows(backend, dev, side, out);
  } else {
    out.keys = static_cast<const Key*>(side.on.data);
    out.codes = side.by.empty() ? nullptr : side.by.data();
    out.n = side.on.size;
  }
  switch (side.order) {
    case row_order::sorted:
      out.is_sorted = true;
      break;
    case row_order::sorted_in_groups:
      out.is_sorted = out.codes == nullptr;
      out.is_sorted_in_groups = true;
      break;
    case row_order::unsorted:
      break;
    case row_order::detect:
      if (!wants_order) break;
      out.is_sorted = has_ascending_keys(backend, out.keys, out.n);
      if (!out.is_sorted && out.codes != nullptr) {
        out.is_sorted_in_groups = has_ascending_groups(out.keys, out.codes, out.n, side.groups);
      }
      break;
  }
  if (out.is_sorted) out.is_sorted_in_groups = true;
  return out;
}

struct group_run {
  std::uint32_t group;
  std::size_t first, last;
};

template <class Key>
struct ordered_rows {
  const Key* keys = nullptr;
  const row_number* rows = nullptr;  // null: position i is row i
  std::size_t n = 0;
  std::vector<group_run> runs;
  raw_buffer own_keys;
  buffer<row_number> own_rows;
};

/// A stable sort of clean rows by key: positions of clean rows in key order. With `keys_out` also their keys.
template <class Key>
[[nodiscard]] buffer<row_number> sort_by_key(const cpu_backend& backend, const device& dev, const clean_rows<Key>& in,
                                             raw_buffer* keys_out) {
  using word = typename key_codec<Key>::word;
  static_assert(sizeof(word) == sizeof(Key));
  raw_buffer words(dev, in.n * sizeof(word), {}), words_alt(dev, in.n * sizeof(word), {});
  buffer<row_number> order(dev, in.n), order_alt(dev, in.n);
  auto* w = static_cast<word*>(words.data());
  backend.for_each(
      in.n,
      [&](std::size_t i) {
        w[i] = key_codec<Key>::encode(normalized(in.keys[i]));
        order.data()[i] = static_cast<row_number>(i);
      },
      piece_rows);
  if (backend.sort_pairs(w, static_cast<word*>(words_alt.data()), order.data(), order_alt.data(), sizeof(row_number),
                         in.n, 0, 8 * sizeof(word))) {
    std::swap(words, words_alt);
    std::swap(order, order_alt);
  }
  if (keys_out != nullptr) {
    const auto* sorted = static_cast<const word*>(words.data());
    auto* keys = static_cast<Key*>(words_alt.data());
    backend.for_each(
        in.n, [&](std::size_t i) { keys[i] = key_codec<Key>::decode(sorted[i]); }, piece_rows);
    *keys_out = std::move(words_alt);
  }
  return order;
}

/// A stable counting sort by group of the clean rows in this order (null: as they are).
template <class Key>
void partition_by_group(const cpu_backend& backend, const device& dev, const clean_rows<Key>& in,
                        const row_number* order, std::uint32_t groups, ordered_rows<Key>& out) {
  std::size_t chunks = parts_for(backend, in.n);
  while (chunks > 1 && chunks * groups > in.n) chunks /= 2;
  std::vector<row_number> next(chunks * groups, 0);
  const auto at = [order](std::size_t i) { return order == nullptr ? i : order[i]; };
  for_each_part(backend, chunks, in.n, [&](std::size_t c, std::size_t first, std::size_t last) {
    row_number* counts = next.data() + c * groups;
    for (std::size_t i = first; i < last; ++i) ++counts[in.codes[at(i)]];
  });
  std::size_t total = 0;
  for (std::uint32_t g = 0; g < groups; ++g) {
    const std::size_t first = total;
    for (std::size_t c = 0; c < chunks; ++c) {
      total += std::exchange(next[c * groups + g], static_cast<row_number>(total));
    }
    if (total != first) out.runs.push_back({g, first, total});
  }
  out.own_keys = raw_buffer(dev, in.n * sizeof(Key), {});
  out.own_rows = buffer<row_number>(dev, in.n);
  auto* keys = static_cast<Key*>(out.own_keys.data());
  row_number* rows = out.own_rows.data();
  for_each_part(backend, chunks, in.n, [&](std::size_t c, std::size_t first, std::size_t last) {
    row_number* free = next.data() + c * groups;
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t from = at(i);
      const row_number to = free[in.codes[from]]++;
      keys[to] = in.keys[from];
      rows[to] = in.rows == nullptr ? static_cast<row_number>(from) : in.rows[from];
    }
  });
  out.keys = keys;
  out.rows = rows;
}

/// As partition_by_group() for few rows of many groups: O(rows), whatever the number of groups.
template <class Key>
void sort_by_group(const cpu_backend& backend, const device& dev, const clean_rows<Key>& in, buffer<row_number>&& order,
                   ordered_rows<Key>& out) {
  buffer<std::uint32_t> codes(dev, in.n), codes_alt(dev, in.n);
  buffer<row_number> from = std::move(order), from_alt(dev, in.n);
  if (from.empty()) {
    from = buffer<row_number>(dev, in.n);
    for (std::size_t i = 0; i < in.n; ++i) from.data()[i] = static_cast<row_number>(i);
  }
  for (std::size_t i = 0; i < in.n; ++i) codes.data()[i] = in.codes[from.data()[i]];
  if (backend.sort_pairs(codes.data(), codes_alt.data(), from.data(), from_alt.data(), sizeof(row_number), in.n, 0,
                         32)) {
    std::swap(codes, codes_alt);
    std::swap(from, from_alt);
  }
  out.own_keys = raw_buffer(dev, in.n * sizeof(Key), {});
  out.own_rows = buffer<row_number>(dev, in.n);
  auto* keys = static_cast<Key*>(out.own_keys.data());
  for (std::size_t i = 0; i < in.n; ++i) {
    const row_number at = from.data()[i];
    keys[i] = in.keys[at];
    out.own_rows.data()[i] = in.rows == nullptr ? at : in.rows[at];
    const std::uint32_t group = codes.data()[i];
    if (out.runs.empty() || out.runs.back().group != group) out.runs.push_back({group, i, i});
    out.runs.back().last = i + 1;
  }
  out.keys = keys;
  out.rows = out.own_rows.data();
}

/// Which rows order_rows() sorts by key.
enum class sorts_rows : std::uint8_t {
  always,
  if_many,  ///< 2^16 or more: a search of fewer rows in any order costs less than a sort of them
  never,    ///< they are searched in any order, with a key_directory
};

/// Brings clean rows into group order and, as `which` says, into key order. Lifetime: the result may use arrays of
/// `in`.
template <class Key>
[[nodiscard]] ordered_rows<Key> order_rows(const cpu_backend& backend, const device& dev, const clean_rows<Key>& in,
                                           std::uint32_t groups, sorts_rows which) {
  ordered_rows<Key> out;
  out.n = in.n;
  if (in.n == 0) return out;
  const bool sorts = !in.is_sorted_in_groups &&
                     (which == sorts_rows::always || (which == sorts_rows::if_many && in.n >= many_queries));
  if (in.codes == nullptr) {
    out.runs.push_back({0, 0, in.n});
    if (!sorts) {
      out.keys = in.keys;
      out.rows = in.rows;
      return out;
    }
    out.own_rows = sort_by_key(backend, dev, in, &out.own_keys);
    out.keys = static_cast<const Key*>(out.own_keys.data());
    if (in.rows != nullptr) {
      row_number* rows = out.own_rows.data();
      backend.for_each(
          in.n, [&](std::size_t i) { rows[i] = in.rows[rows[i]]; }, piece_rows);
    }
    out.rows = out.own_rows.data();
    return out;
  }
  buffer<row_number> order;
  if (sorts) order = sort_by_key(backend, dev, in, nullptr);
  if (in.n < groups / 8) {
    sort_by_group(backend, dev, in, std::move(order), out);
  } else {
    partition_by_group(backend, dev, in, order.data(), groups, out);
  }
  return out;
}

/// Keys and directory must fit a core's L2 cache: random accesses to 2^20 keys of 8 bytes made an as-of join of 2^20
/// left rows twice as long as a sort of the left rows did.
template <class Key>
[[nodiscard]] constexpr bool fits_directory(std::size_t n) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20;
  return n <= most_bytes / (sizeof(Key) + sizeof(std::uint32_t) / 2);
}

/// A directory of n sorted keys for left rows of one group that are in no order; empty where it does not pay.
template <class Key>
[[nodiscard]] key_directory<Key> directory_for(const cpu_backend& backend, const clean_rows<Key>& left, const Key* keys,
                                               std::size_t n) {
  if (left.codes != nullptr || left.is_sorted || left.n < many_queries || !fits_directory<Key>(n)) return {};
  return {backend, keys, n};
}

/// The rows of one group: those of the main arrays, then those that were appended. Ranks count both.
template <class Key>
struct group_view {
  key_segment<Key> main;
  const row_number* main_rows = nullptr;  // null: position i is row i
  key_segment<Key> tail;
  const row_number* tail_rows = nullptr;

  [[nodiscard]] std::size_t size() const { return main.size() + tail.size(); }
  [[nodiscard]] Key key_at(std::size_t rank) const {
    return rank < main.size() ? main.keys[main.first + rank] : tail.keys[tail.first + rank - main.size()];
  }
  [[nodiscard]] row_number row_at(std::size_t rank) const {
    if (rank >= main.size()) return tail_rows[tail.first + rank - main.size()];
    const std::size_t at = main.first + rank;
    return main_rows == nullptr ? static_cast<row_number>(at) : main_rows[at];
  }
};

/// Ranks in a group. Every key of the tail is at or after every key of the main part, so ranks add up.
template <bound_type Bound, class Key, class Query = Key>
class group_ranker {
 public:
  explicit group_ranker(const group_view<Key>& group)
      : main_(group.main), tail_(group.tail), first_(group.main.first), has_tail_(group.tail.size() != 0) {}
  void rank(const Query* q, std::size_t count, std::uint32_t* ranks) {
    main_.rank(q, count, ranks);
    for (std::size_t j = 0; j < count; ++j) ranks[j] -= static_cast<std::uint32_t>(first_);
    if (!has_tail_) return;
    std::uint32_t more[block_rows];
    tail_.rank(q, count, more);
    for (std::size_t j = 0; j < count; ++j) ranks[j] += more[j];
  }

 private:
  block_ranker<Bound, Key, Query> main_, tail_;
  std::size_t first_;
  bool has_tail_;
};

/// body(group, first, last) for pieces of the runs of ordered rows, in parallel.
template <class Key, class Body>
void for_each_run_piece(const cpu_backend& backend, const ordered_rows<Key>& rows, const Body& body) {
  const std::size_t pieces = (rows.n + piece_rows - 1) / piece_rows;
  backend.for_each_chunk(pieces, 1, [&](std::size_t from, std::size_t to) {
    const std::size_t first = from * piece_rows, last = std::min(rows.n, to * piece_rows);
    auto run = std::upper_bound(rows.runs.begin(), rows.runs.end(), first,
                                [](std::size_t at, const group_run& r) { return at < r.last; });
    for (; run != rows.runs.end() && run->first < last; ++run) {
      body(run->group, std::max(first, run->first), std::min(last, run->last));
    }
  });
}

}  // namespace espalier::join_detail
