// sort_unique_pairs.hpp - sorts pairs in host memory by key and removes duplicates, for a build of the implicit layout.
#pragma once

#include <cstring>

#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/index/elements.hpp"

namespace espalier::detail {

/// Words of keys in ascending order with their original positions; equal ones are in input order.
template <class Word>
struct sorted_words {
  buffer<Word> words, words_alt;
  buffer<std::uint64_t> places, places_alt;
  const Word* word = nullptr;
  const std::uint64_t* place = nullptr;

  sorted_words(const cpu_backend& cpu, scalar_kind kind, const void* keys, std::size_t n)
      : words(cpu.get_device(), n),
        words_alt(cpu.get_device(), n),
        places(cpu.get_device(), n),
        places_alt(cpu.get_device(), n) {
    cpu.for_each(n, [&](std::size_t i) {
      words.data()[i] = static_cast<Word>(encode_bits(kind, load_bits<Word>(kind, keys, i)));
      places.data()[i] = i;
    });
    const bool swapped =
        cpu.sort_pairs(words.data(), words_alt.data(), places.data(), places_alt.data(), 8, n, 0, 8 * sizeof(Word));
    word = swapped ? words_alt.data() : words.data();
    place = swapped ? places_alt.data() : places.data();
  }
};

/// Pairs in the caller's types.
struct pair_columns {
  raw_buffer keys, values;
  std::size_t n = 0;
};
[[nodiscard]] inline pair_columns room_for_pairs(const device& host, const element_type& e, std::size_t n) {
  const stream order = host.default_stream();
  return {raw_buffer(host, n * bytes_of(e.key), order), raw_buffer(host, n * e.value_bytes, order), n};
}
inline void copy_pair(const element_type& e, const void* keys, const void* values, std::size_t from,
                      const pair_columns& to, std::size_t at) {
  const unsigned k = bytes_of(e.key), v = e.value_bytes;
  std::memcpy(static_cast<char*>(to.keys.data()) + at * k, static_cast<const char*>(keys) + from * k, k);
  if (v != 0)
    std::memcpy(static_cast<char*>(to.values.data()) + at * v, static_cast<const char*>(values) + from * v, v);
}

/// Keeps the last one of equal keys.
template <class Word>
[[nodiscard]] pair_columns unique_pairs(const cpu_backend& cpu, const element_type& e, const void* keys,
                                        const void* values, std::size_t n) {
  const sorted_words<Word> sorted(cpu, e.key, keys, n);
  const buffer<std::uint64_t> numbers(cpu.get_device(), n + 1);
  numbers.data()[n] = 0;
  cpu.for_each(n,
               [&](std::size_t i) { numbers.data()[i] = i + 1 == n || sorted.word[i] != sorted.word[i + 1] ? 1 : 0; });
  cpu.exclusive_scan(numbers.data(), numbers.data(), n + 1);
  pair_columns out = room_for_pairs(cpu.get_device(), e, numbers.data()[n]);
  cpu.for_each(n, [&](std::size_t i) {
    if (numbers.data()[i + 1] != numbers.data()[i]) copy_pair(e, keys, values, sorted.place[i], out, numbers.data()[i]);
  });
  return out;
}

}  // namespace espalier::detail
