// join_cases.hpp - generated sides of joins, and the as-of join by definition: O(n * m), without any shared code.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "espalier/join/asof_join.hpp"

namespace espalier::test {

enum class shape { sorted, reversed, shuffled, equal, sorted_by_group };

inline const char* name_of(shape s) {
  switch (s) {
    case shape::sorted:
      return "sorted";
    case shape::reversed:
      return "reversed";
    case shape::shuffled:
      return "shuffled";
    case shape::equal:
      return "equal";
    case shape::sorted_by_group:
      return "sorted_by_group";
  }
  return "?";
}

template <class Key>
struct side_data {
  std::vector<Key> keys = {};
  std::vector<std::uint32_t> codes = {};    // empty: no groups
  std::vector<std::uint8_t> validity = {};  // bitmap; empty: all rows are valid
  std::size_t offset = 0;                   // of the bitmap
  std::uint32_t groups = 0;

  [[nodiscard]] join_side side(row_order order = row_order::detect) const {
    return {.on = column_view(keys, bits()), .by = codes, .groups = codes.empty() ? 0 : groups, .order = order};
  }
  [[nodiscard]] bitmap_view bits() const {
    return validity.empty() ? bitmap_view{} : bitmap_view{validity.data(), offset};
  }
  [[nodiscard]] bool matches_nothing(std::size_t i) const {
    if (!validity.empty() && !bits()[i]) return true;
    if (!codes.empty() && codes[i] == no_group) return true;
    return keys[i] != keys[i];  // NaN
  }
  [[nodiscard]] std::uint32_t code(std::size_t i) const { return codes.empty() ? 0 : codes[i]; }
};

struct side_shape {
  std::size_t rows = 0;
  std::uint32_t groups = 0;  // 0: none
  std::uint32_t used_groups = 0;
  bool has_nulls = false;
  shape order = shape::sorted;
  int spread = 50;  // keys are in [-spread, spread] (unsigned: [0, 2 * spread]), and some are extremes
};

template <class Key>
Key random_key(std::mt19937_64& random, int spread) {
  const auto dice = random() % 40;
  if (dice == 0) return std::numeric_limits<Key>::lowest();
  if (dice == 1) return std::numeric_limits<Key>::max();
  const int small = static_cast<int>(random() % static_cast<unsigned>(2 * spread + 1));
  if constexpr (std::is_floating_point_v<Key>) {
    if (dice == 2) return std::numeric_limits<Key>::infinity();
    if (dice == 3) return -std::numeric_limits<Key>::infinity();
    if (dice == 4) return Key{-0.0};
    return static_cast<Key>(small - spread) / Key{2};
  } else if constexpr (std::is_signed_v<Key>) {
    return static_cast<Key>(small - spread);
  } else {
    return static_cast<Key>(small);
  }
}

template <class Key>
side_data<Key> random_side(std::mt19937_64& random, const side_shape& how) {
  side_data<Key> out;
  out.groups = how.groups;
  const Key one = random_key<Key>(random, how.spread);
  for (std::size_t i = 0; i < how.rows; ++i) {
    out.keys.push_back(how.order == shape::equal ? one : random_key<Key>(random, how.spread));
  }
  if (how.order == shape::sorted) std::sort(out.keys.begin(), out.keys.end());
  if (how.order == shape::reversed) std::sort(out.keys.rbegin(), out.keys.rend());
  if (how.groups != 0) {
    const std::uint32_t used = how.used_groups == 0 ? how.groups : how.used_groups;
    for (std::size_t i = 0; i < how.rows; ++i) out.codes.push_back(static_cast<std::uint32_t>(random() % used));
    if (how.order == shape::sorted_by_group) {
      std::vector<std::pair<std::uint32_t, Key>> rows;
      for (std::size_t i = 0; i < how.rows; ++i) rows.emplace_back(out.codes[i], out.keys[i]);
      std::sort(rows.begin(), rows.end());
      for (std::size_t i = 0; i < how.rows; ++i) std::tie(out.codes[i], out.keys[i]) = rows[i];
    }
  }
  if (how.has_nulls) {
    out.offset = random() % 11;
    out.validity.assign((how.rows + out.offset + 7) / 8 + 1, 0xff);
    for (std::size_t i = 0; i < how.rows; ++i) {
      if (random() % 5 == 0) {
        out.validity[(out.offset + i) / 8] &= static_cast<std::uint8_t>(~(1u << ((out.offset + i) % 8)));
        out.keys[i] = random_key<Key>(random, how.spread);  // what is below a NULL does not matter
      } else if (std::is_floating_point_v<Key> && random() % 8 == 0) {
        out.keys[i] = std::numeric_limits<Key>::quiet_NaN();
      } else if (!out.codes.empty() && random() % 8 == 0) {
        out.codes[i] = no_group;
      }
    }
  }
  return out;
}

/// |a - b|, exactly for integers.
template <class Key>
long double oracle_distance(Key a, Key b) {
  if (a == b) return 0;
  if constexpr (std::is_floating_point_v<Key>) {
    return std::fabs(static_cast<double>(a) - static_cast<double>(b));
  } else {
    const auto d = static_cast<int128>(a) - static_cast<int128>(b);
    return static_cast<long double>(d < 0 ? -d : d);  // 64 bits of precision
  }
}

template <class Key>
std::vector<row_number> oracle_asof(const side_data<Key>& left, const side_data<Key>& right,
                                    const asof_options& options, std::optional<long double> tolerance) {
  std::vector<row_number> out;
  for (std::size_t i = 0; i < left.keys.size(); ++i) {
    row_number back = no_row, ahead = no_row;
    for (std::size_t j = 0; j < right.keys.size() && !left.matches_nothing(i); ++j) {
      if (right.matches_nothing(j) || right.code(j) != left.code(i)) continue;
      if (!options.allow_exact_matches && right.keys[j] == left.keys[i]) continue;
      if (right.keys[j] <= left.keys[i] && (back == no_row || right.keys[j] >= right.keys[back])) {
        back = static_cast<row_number>(j);
      }
      if (right.keys[j] >= left.keys[i] && (ahead == no_row || right.keys[j] < right.keys[ahead])) {
        ahead = static_cast<row_number>(j);
      }
    }
    row_number row = options.direction == asof_direction::forward ? ahead : back;
    if (options.direction == asof_direction::nearest && ahead != no_row &&
        (back == no_row ||
         oracle_distance(left.keys[i], right.keys[ahead]) < oracle_distance(left.keys[i], right.keys[back]))) {
      row = ahead;
    }
    if (row != no_row && tolerance && oracle_distance(left.keys[i], right.keys[row]) > *tolerance) row = no_row;
    out.push_back(row);
  }
  return out;
}

}  // namespace espalier::test
