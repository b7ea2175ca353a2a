// rank.hpp - ranks of many keys in sorted keys: the search that all joins share.
//
// The rank of q is the number of keys that are before q: key < q (lower) or key <= q (upper).
//
// Sixteen queries are searched together. Their ranks lie in a window; the window is halved for all of them in one
// branch-free step, so that sixteen independent loads are in flight. If queries ascend, the window starts at the rank
// of the previous block and its end is found by galloping: O(log(window)) per query, and no mispredicted branch per
// query. Queries in any other order get the window of their minimum and maximum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace espalier::join_detail {

enum class bound_type : std::uint8_t { lower, upper };

template <bound_type Bound, class Key, class Query>
[[nodiscard]] inline bool is_before(Key key, Query q) {
  if constexpr (Bound == bound_type::lower) {
    return key < q;
  } else {
    return key <= q;
  }
}

/// The first position of [first, last) whose key is not before q, or `last`.
template <bound_type Bound, class Key, class Query>
[[nodiscard]] inline std::size_t binary_search(const Key* keys, std::size_t first, std::size_t last, Query q) {
  std::size_t n = last - first;
  while (n > 1) {
    const std::size_t half = n / 2;
    first += half & (std::size_t{0} - static_cast<std::size_t>(is_before<Bound>(keys[first + half - 1], q)));
    n -= half;
  }
  return first + static_cast<std::size_t>(n == 1 && is_before<Bound>(keys[first], q));
}

/// As binary_search(), in O(log(distance from first)).
template <bound_type Bound, class Key, class Query>
[[nodiscard]] inline std::size_t gallop(const Key* keys, std::size_t first, std::size_t last, Query q) {
  std::size_t probe = first, step = 1;
  while (probe < last && is_before<Bound>(keys[probe], q)) {
    first = probe + 1;
    probe = last - probe > step ? probe + step : last;
    step *= 2;
  }
  return binary_search<Bound>(keys, first, probe, q);
}

inline constexpr std::size_t top_stride = 64;

/// Sorted keys [first, last) of one array. `top`, if not null, has the key of every position that is a multiple of
/// top_stride.
template <class Key>
struct key_segment {
  const Key* keys = nullptr;
  std::size_t first = 0;
  std::size_t last = 0;
  const Key* top = nullptr;

  [[nodiscard]] std::size_t size() const { return last - first; }

  /// A search without a guess: the top level, then at most top_stride - 1 keys.
  template <bound_type Bound, class Query>
  [[nodiscard]] std::size_t search(Query q) const {
    if (top == nullptr || last - first < 2 * top_stride) return binary_search<Bound>(keys, first, last, q);
    const std::size_t top_first = (first + top_stride - 1) / top_stride, top_last = (last - 1) / top_stride + 1;
    const std::size_t t = binary_search<Bound>(top, top_first, top_last, q);
    const std::size_t from = t == top_first ? first : (t - 1) * top_stride + 1;
    return binary_search<Bound>(keys, from, t == top_last ? last : t * top_stride, q);
  }
};

inline constexpr std::size_t block_rows = 16;

/// Ranks of blocks of queries, as positions in [segment.first, segment.last].
template <bound_type Bound, class Key, class Query>
class block_ranker {
 public:
  explicit block_ranker(const key_segment<Key>& segment) : segment_(segment) {}

  /// Writes the position of each of `count` queries; q and positions have block_rows elements, of which the last are
  /// scratch memory if count < block_rows. Precondition: 0 < count <= block_rows.
  void rank(Query* q, std::size_t count, std::size_t* positions) {
    std::fill(q + count, q + block_rows, q[count - 1]);
    bool ascends = true;
    for (std::size_t j = 1; j < block_rows; ++j) ascends &= q[j - 1] <= q[j];
    std::size_t from, to;
    if (ascends) {
      from = has_previous_ && previous_ <= q[0] ? previous_position_ : segment_.template search<Bound>(q[0]);
      to = gallop<Bound>(segment_.keys, from, segment_.last, q[block_rows - 1]);
    } else {
      const auto [least, most] = std::minmax_element(q, q + block_rows);
      from = segment_.template search<Bound>(*least);
      to = segment_.template search<Bound>(*most);
    }
    search_window(q, from, to, positions);
    has_previous_ = true;
    previous_ = q[block_rows - 1];
    previous_position_ = positions[block_rows - 1];
  }

 private:
  void search_window(const Query* q, std::size_t from, std::size_t to, std::size_t* positions) const {
    const Key* keys = segment_.keys;
    std::fill(positions, positions + block_rows, from);
    std::size_t n = to - from;
    while (n > 1) {
      const std::size_t half = n / 2;
      for (std::size_t j = 0; j < block_rows; ++j) {
        const bool before = is_before<Bound>(keys[positions[j] + half - 1], q[j]);
        positions[j] += half & (std::size_t{0} - static_cast<std::size_t>(before));
      }
      n -= half;
    }
    if (n == 1) {
      for (std::size_t j = 0; j < block_rows; ++j) {
        positions[j] += static_cast<std::size_t>(is_before<Bound>(keys[positions[j]], q[j]));
      }
    }
  }

  key_segment<Key> segment_;
  bool has_previous_ = false;
  Query previous_{};
  std::size_t previous_position_ = 0;
};

}  // namespace espalier::join_detail
