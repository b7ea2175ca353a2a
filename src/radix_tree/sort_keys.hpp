// sort_keys.hpp - sorts a batch of byte strings word by word; from the second word on only keys that are not
// distinguished yet.
//
// Positions of the sorted batch hold elements. Elements that agree so far form a group of adjacent positions, and
// groups are numbered in key order. A round sorts the open positions by (group, next word, remaining length), least
// significant part first, with stable sorts; so equal keys stay in batch order. Random keys need one round.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "espalier/device/buffer.hpp"
#include "espalier/radix_tree/key.hpp"
#include "radix_tree/scratch.hpp"
#include "static_tree/build_kernels.hpp"

namespace espalier::detail {

/// Computes, for a part of the batch, the minimum length of the common prefix with the first key.
struct agreed_bytes {
  byte_batch keys;
  std::size_t n, part;
  std::uint32_t* least;
  ESPALIER_HD void operator()(std::size_t p) const {
    const byte_key_view first = keys[0];
    std::uint32_t agreed = first.size;
    for (std::size_t i = p * part; i < (p + 1) * part && i < n; ++i) {
      const std::uint32_t d = first_difference(first, keys[i]);
      if (d < agreed) agreed = d;
    }
    least[p] = agreed;
  }
};

struct open_words {
  byte_batch keys;
  std::uint32_t at;
  const std::uint32_t* places;  ///< element at each position
  const std::uint32_t* open;    ///< positions; null for all
  std::uint64_t* words;
  std::uint32_t* lefts;
  std::uint32_t* numbers;
  /// Remaining length of a key, as far as this word shows: 0 to 8 bytes, or 9 for more.
  static ESPALIER_INLINE std::uint32_t left(const byte_key_view& key, std::uint32_t at) {
    const std::uint32_t rest = key.size > at ? key.size - at : 0;
    return rest > 8 ? 9 : rest;
  }
  ESPALIER_HD void operator()(std::size_t j) const {
    const byte_key_view key = keys[places[open == nullptr ? j : open[j]]];
    words[j] = key.word(at);
    lefts[j] = left(key, at);
    numbers[j] = static_cast<std::uint32_t>(j);
  }
};
template <class T>
struct gather {
  const T* from;
  const std::uint32_t* numbers;
  T* to;
  ESPALIER_HD void operator()(std::size_t j) const { to[j] = from[numbers[j]]; }
};
/// Maps element j of the sorted round, which has number numbers[j] in it.
struct element_of_round {
  const std::uint32_t* places;
  const std::uint32_t* open;
  const std::uint32_t* numbers;
  std::uint32_t* to;
  ESPALIER_HD void operator()(std::size_t j) const { to[j] = places[open == nullptr ? numbers[j] : open[numbers[j]]]; }
};
/// Sets begins[j] to 1 if element j of the round is in a different group than the previous one.
struct mark_groups {
  byte_batch keys;
  std::uint32_t at;
  const std::uint32_t* elements;
  const std::uint32_t* groups;  ///< groups of the last round, in the order of elements; null if all are in one
  std::uint64_t* begins;
  [[nodiscard]] ESPALIER_INLINE bool tied(std::size_t i, std::size_t j) const {
    if (groups != nullptr && groups[i] != groups[j]) return false;
    const byte_key_view a = keys[elements[i]], b = keys[elements[j]];
    return a.word(at) == b.word(at) && open_words::left(a, at) == open_words::left(b, at);
  }
  ESPALIER_HD void operator()(std::size_t j) const { begins[j] = j == 0 || !tied(j - 1, j) ? 1 : 0; }
};
/// Sets stays[j] to 1 if element j shares its group, and its key continues.
struct mark_open {
  byte_batch keys;
  std::uint32_t at;
  std::size_t m;
  const std::uint32_t* elements;
  const std::uint64_t* begins;  ///< scanned: number of groups that begin before element j
  std::uint64_t* stays;
  [[nodiscard]] ESPALIER_INLINE bool begins_at(std::size_t j) const { return begins[j + 1] != begins[j]; }
  ESPALIER_HD void operator()(std::size_t j) const {
    const bool shared = !begins_at(j) || (j + 1 < m && !begins_at(j + 1));
    stays[j] = shared && open_words::left(keys[elements[j]], at) == 9 ? 1 : 0;
  }
};
struct keep_open {
  const std::uint32_t* open;
  const std::uint64_t* begins;
  const std::uint64_t* stays;  ///< scanned
  std::uint32_t* next_open;
  std::uint32_t* next_groups;
  ESPALIER_HD void operator()(std::size_t j) const {
    if (stays[j + 1] == stays[j]) return;
    next_open[stays[j]] = open == nullptr ? static_cast<std::uint32_t>(j) : open[j];
    next_groups[stays[j]] = static_cast<std::uint32_t>(begins[j + 1] - 1);
  }
};
struct put_back {
  const std::uint32_t* open;
  const std::uint32_t* elements;
  std::uint32_t* places;
  ESPALIER_HD void operator()(std::size_t j) const { places[open == nullptr ? j : open[j]] = elements[j]; }
};

template <class Context>
class key_sorter {
 public:
  explicit key_sorter(Context& context) : context_(context) {}

  /// Returns the numbers of the n keys in key order; equal keys are in batch order.
  [[nodiscard]] buffer<std::uint32_t> operator()(const byte_batch& keys, std::size_t n) {
    buffer<std::uint32_t> places = room<std::uint32_t>(context_, n);
    context_.for_each(n, number_places{places.data()});
    if (n < 2) return places;
    buffer<std::uint32_t> open, groups;
    std::size_t m = n;
    const std::uint32_t agreed = common_prefix(keys, n);
    for (std::uint32_t at = agreed / 8 * 8; m != 0; at += 8) {
      const std::uint32_t* const which = open.size() == 0 ? nullptr : open.data();
      const auto range = groups.size() == 0 ? 0u : static_cast<unsigned>(std::bit_width(n));  // there are fewer groups
      buffer<std::uint32_t> numbers =
          sort_round(keys, at, at < agreed ? agreed - at : 0, places.data(), which, groups, range, m);
      buffer<std::uint32_t> elements = room<std::uint32_t>(context_, m), own_groups;
      context_.for_each(m, element_of_round{places.data(), which, numbers.data(), elements.data()});
      if (groups.size() != 0) {
        own_groups = room<std::uint32_t>(context_, m);
        context_.for_each(m, gather<std::uint32_t>{groups.data(), numbers.data(), own_groups.data()});
      }
      buffer<std::uint64_t> begins = room<std::uint64_t>(context_, m + 1), stays = room<std::uint64_t>(context_, m + 1);
      context_.zero(begins.data() + m, 8);
      context_.zero(stays.data() + m, 8);
      const std::uint32_t* const old = own_groups.size() == 0 ? nullptr : own_groups.data();
      context_.for_each(m, mark_groups{keys, at, elements.data(), old, begins.data()});
      context_.exclusive_scan(begins.data(), begins.data(), m + 1);
      context_.for_each(m, mark_open{keys, at, m, elements.data(), begins.data(), stays.data()});
      context_.exclusive_scan(stays.data(), stays.data(), m + 1);
      context_.for_each(m, put_back{which, elements.data(), places.data()});
      const std::size_t still = context_.read(stays.data() + m);
      buffer<std::uint32_t> next_open = room<std::uint32_t>(context_, still),
                            next_groups = room<std::uint32_t>(context_, still);
      if (still != 0)
        context_.for_each(m, keep_open{which, begins.data(), stays.data(), next_open.data(), next_groups.data()});
      open = std::move(next_open);
      groups = std::move(next_groups);
      m = still;
    }
    return places;
  }

  [[nodiscard]] std::uint32_t common_prefix(const byte_batch& keys, std::size_t n) {
    constexpr std::size_t parts = 4096;
    const std::size_t part = (n + parts - 1) / parts, used = (n + part - 1) / part;
    const buffer<std::uint32_t> least = room<std::uint32_t>(context_, used);
    context_.for_each(used, agreed_bytes{keys, n, part, least.data()});
    std::uint32_t host[parts];
    context_.copy(host, least.data(), used * 4);
    if constexpr (Context::on_gpu) context_.order().synchronize();
    return *std::min_element(host, host + used);
  }

 private:
  /// Returns the open positions, by number, in the order of this round. The first `agreed` bytes of all words are
  /// equal, and groups are below 2^group_bits.
  [[nodiscard]] buffer<std::uint32_t> sort_round(const byte_batch& keys, std::uint32_t at, std::uint32_t agreed,
                                                 const std::uint32_t* places, const std::uint32_t* open,
                                                 const buffer<std::uint32_t>& groups, unsigned group_bits,
                                                 std::size_t m) {
    const buffer<std::uint64_t> words = room<std::uint64_t>(context_, m);
    const buffer<std::uint32_t> lefts = room<std::uint32_t>(context_, m);
    buffer<std::uint32_t> numbers = room<std::uint32_t>(context_, m);
    context_.for_each(m, open_words{keys, at, places, open, words.data(), lefts.data(), numbers.data()});
    bool in_order = true;           // numbers are those of the positions
    if (keys.offsets != nullptr) {  // keys of one length end together
      context_.sort_numbers(lefts.data(), numbers, m, 4);
      in_order = false;
    }
    sort_by(words.data(), numbers, in_order, m, 64 - 8 * agreed);
    if (groups.size() != 0) sort_by(groups.data(), numbers, false, m, group_bits);
    return numbers;
  }
  /// Sorts `numbers` by the values that they refer to, which differ in the lower bits.
  template <class T>
  void sort_by(const T* values, buffer<std::uint32_t>& numbers, bool in_order, std::size_t m, unsigned bits) {
    if (in_order) return context_.sort_numbers(values, numbers, m, bits);
    const buffer<T> keys = room<T>(context_, m);
    context_.for_each(m, gather<T>{values, numbers.data(), keys.data()});
    context_.sort_numbers(keys.data(), numbers, m, bits);
  }

  Context& context_;
};

}  // namespace espalier::detail
