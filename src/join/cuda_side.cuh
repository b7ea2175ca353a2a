// cuda_side.cuh - sides of joins on a GPU.
//
//   gpu_side      keys, group codes and validity in the memory of the GPU: the caller's arrays, or copies
//   sorted_side   the rows of a right side that can match, as words in ascending order and row numbers
//
// A side that is sorted, without groups and without rows that match nothing is used as it is. Otherwise words and row
// numbers are made (in row order, without the rows that match nothing) and sorted by CUB's radix sort, which is stable;
// only bits that differ are sorted, and only those of the group if the keys ascend. 128-bit words are sorted by key and
// then by group. Left sides stay in their order: see cuda_rank.cuh and cuda_query_order.cuh.
#pragma once

#include <bit>
#include <string>
#include <utility>

#include "espalier/device/cuda.cuh"
#include "join/cuda_rank.cuh"
#include "join/cuda_staging.cuh"
#include "join/packed_words.hpp"

namespace espalier::join_detail {

/// Rows in the memory of a GPU, as kernels read them.
template <class KeyWord>
struct side_rows {
  const KeyWord* keys = nullptr;
  const std::uint32_t* codes = nullptr;  // null: one group
  const std::uint8_t* bits = nullptr;    // null: all rows are valid
  std::size_t offset = 0;                // of the bits
  std::size_t n = 0;
  word_reader<KeyWord> read;

  [[nodiscard]] side_rows part(std::size_t first, std::size_t last) const {
    return {keys + first, codes == nullptr ? nullptr : codes + first, bits, offset + first, last - first, read};
  }
  __device__ std::uint32_t group(std::size_t i) const { return codes == nullptr ? 0 : codes[i]; }
  __device__ bool is_valid(std::size_t i) const {
    return bits == nullptr || ((bits[(offset + i) / 8] >> ((offset + i) % 8)) & 1u) != 0;
  }
  __device__ bool can_match(std::size_t i) const {
    return !read.is_nan(keys[i]) && is_valid(i) && (codes == nullptr || codes[i] != no_group);
  }
};

/// A side, copied to the GPU where it is not local.
template <class KeyWord>
class gpu_side {
 public:
  gpu_side(const device& dev, const stream& order, const join_side& side)
      : side_(side),
        keys_(dev, order, static_cast<const KeyWord*>(side.on.data), side.on.size),
        codes_(dev, order, side.by.empty() ? nullptr : side.by.data(), side.by.size()),
        bits_(dev, order, side.on.validity, side.on.size) {}

  [[nodiscard]] bool is_copy() const { return keys_.is_copy() || codes_.is_copy() || bits_.is_copy(); }
  void fetch(join_copies& copies, std::size_t first, std::size_t last) const {
    codes_.fetch(copies, first, last);
    bits_.fetch(copies, first, last);
    keys_.fetch(copies, first, last);
  }
  [[nodiscard]] side_rows<KeyWord> rows() const {
    return {keys_.data(),  side_.by.empty() ? nullptr : codes_.data(), bits_.view().bits, bits_.view().offset,
            side_.on.size, word_reader<KeyWord>::of(side_.on.kind)};
  }
  [[nodiscard]] const join_side& side() const { return side_; }

 private:
  join_side side_;
  input_array<KeyWord> keys_;
  input_array<std::uint32_t> codes_;
  input_bitmap bits_;
};

/// What one pass over a side finds. Descents from row to row are counted among all rows, whether they can match or not.
struct side_facts {
  unsigned long long least = ~0ull, most = 0;  // key words of the rows that can match
  std::uint32_t has_bad_code = 0, has_unmatched = 0, descents = 0;
};

template <class KeyWord>
__global__ void __launch_bounds__(256) find_facts(side_rows<KeyWord> rows, std::uint32_t groups, side_facts* out) {
  KeyWord least = static_cast<KeyWord>(~KeyWord{0}), most = 0;
  bool bad = false, unmatched = false;
  std::uint32_t descents = 0;
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows.n; i += stride) {
    const KeyWord word = rows.read(rows.keys[i]);
    descents += i != 0 && word < rows.read(rows.keys[i - 1]) ? 1 : 0;
    if (rows.codes != nullptr) bad |= rows.codes[i] >= groups && rows.codes[i] != no_group;
    if (!rows.can_match(i)) {
      unmatched = true;
      continue;
    }
    least = word < least ? word : least;
    most = word > most ? word : most;
  }
  for (unsigned lanes = 16; lanes > 0; lanes /= 2) {
    const KeyWord other_least = shuffle_xor(least, lanes), other_most = shuffle_xor(most, lanes);
    least = other_least < least ? other_least : least;
    most = other_most > most ? other_most : most;
  }
  bad = __any_sync(0xffffffffu, bad) != 0;
  unmatched = __any_sync(0xffffffffu, unmatched) != 0;
  descents = __reduce_add_sync(0xffffffffu, descents);
  if (threadIdx.x % 32 != 0) return;
  if (least <= most) {
    atomicMin(&out->least, static_cast<unsigned long long>(least));
    atomicMax(&out->most, static_cast<unsigned long long>(most));
  }
  if (bad) out->has_bad_code = 1;
  if (unmatched) out->has_unmatched = 1;
  if (descents != 0) atomicAdd(&out->descents, descents);
}

/// Copies a value from the GPU, after what was enqueued before.
template <class T>
[[nodiscard]] T read_back(const device& dev, const stream& order, const T* from) {
  T value{};
  dev.copy(&value, from, sizeof(T), order);
  order.synchronize();
  return value;
}

template <class KeyWord>
[[nodiscard]] side_facts facts_of(const cuda_backend& backend, const stream& order, const side_rows<KeyWord>& rows,
                                  std::uint32_t groups) {
  const device& dev = backend.get_device();
  const side_facts none;
  const buffer<side_facts> found = to_device(dev, std::span(&none, 1), order);
  if (rows.n != 0) {
    const std::size_t blocks = std::min<std::size_t>((rows.n - 1) / 256 + 1, 8 * std::size_t(backend.sm_count()));
    find_facts<<<static_cast<unsigned>(blocks), 256, 0, cuda_backend::native(order)>>>(rows, groups, found.data());
    detail::check_cuda(cudaGetLastError(), "find_facts");
  }
  return read_back(dev, order, found.data());
}

[[noreturn]] inline void throw_bad_code(const char* call, const char* name, std::uint32_t groups) {
  throw error(std::string(call) + ": a group code of the " + name + " side is not less than the number of groups (" +
              std::to_string(groups) + "); pass codes of a group_encoder and its groups().");
}

/// Throws for group codes that are not less than the number of groups.
template <class KeyWord>
void check_codes(const char* call, const char* name, const cuda_backend& backend, const stream& order,
                 const side_rows<KeyWord>& rows, std::uint32_t groups) {
  if (rows.codes != nullptr && facts_of(backend, order, rows, groups).has_bad_code != 0) {
    throw_bad_code(call, name, groups);
  }
}

/// Rows that can match, in the order of their words, and equal words in row order.
template <class KeyWord, class Word>
struct sorted_side {
  sorted_words<Word> words;
  const row_number* rows = nullptr;  // null: position p is row p
  word_packing<KeyWord, Word> packing;
  raw_buffer own_words;
  buffer<row_number> own_rows;
};

/// Writes the words and row numbers of the rows that can match, in row order. Returns their number.
template <class KeyWord, class Word>
std::size_t write_words(const cuda_backend& backend, const stream& order, const side_rows<KeyWord>& rows,
                        bool has_unmatched, const word_packing<KeyWord, Word>& packing, Word* words,
                        row_number* numbers) {
  const std::size_t n = rows.n;
  if (!has_unmatched) {
    backend.for_each(order, n, [=] __device__(std::size_t i) {
      words[i] = packing.pack(rows.group(i), rows.read(rows.keys[i]));
      numbers[i] = static_cast<row_number>(i);
    });
    return n;
  }
  const buffer<std::uint32_t> places(backend.get_device(), n + 1, order);
  std::uint32_t* const place = places.data();
  backend.for_each(order, n + 1, [=] __device__(std::size_t i) { place[i] = i < n && rows.can_match(i) ? 1u : 0u; });
  backend.exclusive_scan(order, static_cast<const std::uint32_t*>(place), place, n + 1);
  backend.for_each(order, n, [=] __device__(std::size_t i) {
    const std::uint32_t to = place[i];
    if (to == place[i + 1]) return;
    words[to] = packing.pack(rows.group(i), rows.read(rows.keys[i]));
    numbers[to] = static_cast<row_number>(i);
  });
  return read_back(backend.get_device(), order, place + n);
}

/// Sorts words, and row numbers with them, by bits [begin, end).
template <class Word>
void sort_words(const cuda_backend& backend, const stream& order, std::size_t n, unsigned begin, unsigned end,
                raw_buffer& words, buffer<row_number>& numbers) {
  const device& dev = backend.get_device();
  raw_buffer words_alt(dev, n * sizeof(Word), order);
  buffer<row_number> numbers_alt(dev, n, order);
  if (backend.sort_pairs(order, static_cast<Word*>(words.data()), static_cast<Word*>(words_alt.data()), numbers.data(),
                         numbers_alt.data(), sizeof(row_number), n, begin, end)) {
    std::swap(words, words_alt);
    std::swap(numbers, numbers_alt);
  }
}

/// The same for 128-bit words (group, key): key words by a sort of their own, then group codes.
inline void sort_wide_words(const cuda_backend& backend, const stream& order, std::size_t n, bool sorts_keys,
                            unsigned group_bits, raw_buffer& words, buffer<row_number>& numbers) {
  const device& dev = backend.get_device();
  buffer<row_number> positions(dev, n, order);
  row_number* at = positions.data();
  const auto* const wide = static_cast<const uint128*>(words.data());
  backend.for_each(order, n, [=] __device__(std::size_t i) { at[i] = static_cast<row_number>(i); });
  if (sorts_keys) {
    raw_buffer keys(dev, n * sizeof(std::uint64_t), order);
    auto* const key = static_cast<std::uint64_t*>(keys.data());
    backend.for_each(order, n, [=] __device__(std::size_t i) { key[i] = static_cast<std::uint64_t>(wide[i]); });
    sort_words<std::uint64_t>(backend, order, n, 0, 64, keys, positions);
    at = positions.data();
  }
  {
    raw_buffer groups(dev, n * sizeof(std::uint32_t), order);
    auto* const group = static_cast<std::uint32_t*>(groups.data());
    backend.for_each(order, n,
                     [=] __device__(std::size_t i) { group[i] = static_cast<std::uint32_t>(wide[at[i]] >> 64); });
    sort_words<std::uint32_t>(backend, order, n, 0, group_bits, groups, positions);
    at = positions.data();
  }
  raw_buffer sorted(dev, n * sizeof(uint128), order);
  buffer<row_number> sorted_numbers(dev, n, order);
  auto* const to = static_cast<uint128*>(sorted.data());
  row_number* const to_number = sorted_numbers.data();
  const row_number* const number = numbers.data();
  backend.for_each(order, n, [=] __device__(std::size_t i) {
    to[i] = wide[at[i]];
    to_number[i] = number[at[i]];
  });
  std::swap(words, sorted);
  std::swap(numbers, sorted_numbers);
}

/// The side in order. `keys_ascend`: declared or found for all rows.
template <class KeyWord, class Word>
[[nodiscard]] sorted_side<KeyWord, Word> make_sorted(const cuda_backend& backend, const stream& order,
                                                     const side_rows<KeyWord>& rows, const join_side& side,
                                                     const side_facts& facts,
                                                     const word_packing<KeyWord, Word>& packing) {
  const device& dev = backend.get_device();
  sorted_side<KeyWord, Word> out;
  out.packing = packing;
  const bool has_unmatched = facts.has_unmatched != 0;
  const bool is_detected = side.order == row_order::detect;
  bool keys_ascend = side.order == row_order::sorted || side.order == row_order::sorted_in_groups ||
                     (is_detected && facts.descents == 0);
  if constexpr (sizeof(KeyWord) == sizeof(Word)) {
    if (keys_ascend && !has_unmatched && !packing.has_groups) {
      out.words = {rows.keys, static_cast<row_number>(rows.n), rows.read};
      return out;
    }
  }
  out.own_words = raw_buffer(dev, rows.n * sizeof(Word), order);
  out.own_rows = buffer<row_number>(dev, rows.n, order);
  auto* words = static_cast<Word*>(out.own_words.data());
  const std::size_t n = write_words(backend, order, rows, has_unmatched, packing, words, out.own_rows.data());
  bool words_ascend = keys_ascend && !packing.has_groups;
  if constexpr (sizeof(Word) != 16) {
    if (is_detected && !words_ascend && (has_unmatched || packing.has_groups)) {
      words_ascend = facts_of(backend, order, side_rows<Word>{words, nullptr, nullptr, 0, n, {}}, 0).descents == 0;
    }
  }
  const auto group_bits =
      packing.has_groups ? static_cast<unsigned>(std::bit_width(side.groups == 0 ? 0u : side.groups - 1)) : 0u;
  if (n > 1 && !words_ascend) {
    if constexpr (sizeof(Word) == 16) {
      sort_wide_words(backend, order, n, !keys_ascend, group_bits, out.own_words, out.own_rows);
    } else {
      // Without groups, least and greatest key agree in the bits above.
      const unsigned key_bits =
          packing.has_groups ? packing.bits : static_cast<unsigned>(std::bit_width(facts.least ^ facts.most));
      sort_words<Word>(backend, order, n, keys_ascend ? key_bits : 0, key_bits + group_bits, out.own_words,
                       out.own_rows);
    }
  }
  out.words = {static_cast<const Word*>(out.own_words.data()), static_cast<row_number>(n), {}};
  out.rows = out.own_rows.data();
  return out;
}

/// Calls body(sorted_side) with the right side in order. Throws `error` for bad codes.
template <class KeyWord, class Body>
void with_sorted_side(const char* call, const cuda_backend& backend, const stream& order,
                      const gpu_side<KeyWord>& right, const Body& body) {
  const side_rows<KeyWord> rows = right.rows();
  const join_side& side = right.side();
  const bool has_groups = rows.codes != nullptr, is_real = rows.read.float_mask != 0;
  const bool is_declared = side.order == row_order::sorted || side.order == row_order::sorted_in_groups;
  side_facts facts;
  if (has_groups || is_real || rows.bits != nullptr || !is_declared) {
    facts = facts_of(backend, order, rows, side.groups);
    if (facts.has_bad_code != 0) throw_bad_code(call, "right", side.groups);
  }
  if (!has_groups) {
    body(make_sorted<KeyWord, KeyWord>(backend, order, rows, side, facts, {}));
    return;
  }
  const bool has_rows = facts.least <= facts.most;
  const auto least = static_cast<KeyWord>(has_rows ? facts.least : 0);
  const auto bits = static_cast<unsigned>(std::bit_width(has_rows ? facts.most - facts.least : 0ull));
  const auto group_bits = static_cast<unsigned>(std::bit_width(side.groups == 0 ? 0u : side.groups - 1));
  if (bits + group_bits <= 64) {
    body(make_sorted<KeyWord, std::uint64_t>(backend, order, rows, side, facts, {least, bits, true}));
  } else if constexpr (sizeof(KeyWord) == 8) {
    body(make_sorted<KeyWord, uint128>(backend, order, rows, side, facts, {0, 64, true}));
  }
}

}  // namespace espalier::join_detail
