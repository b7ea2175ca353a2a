// cpu_sort.cpp - cpu_backend::sort_pairs: a parallel, stable radix sort.
//
// For up to three digits of 8 bits (with few keys, four) it is a least-significant-digit sort with one pass over all
// elements per digit. The input is divided into chunks; each counts its digits, a scan over (digit, chunk) gives every
// chunk its position in every bucket, and each chunk scatters. Chunks are scanned in input order, so the sort is
// stable.
//
// For more digits there is one such pass by the *highest* digit in which keys differ, and then every bucket is sorted
// separately, by one thread and in its caches (bucket_sorter): memory is traversed twice instead of once per digit, and
// threads synchronise four times instead of twice per digit. A bucket with more than a thread's share of all elements
// is sorted by all threads in the same manner.
//
//   - Digits start where keys still differ, so bits in which all keys agree cost nothing.
//   - The scatter collects two cache lines of keys per bucket in a buffer near the core and writes them at once.
//   - In a bucket that fits the caches, 16 or 24 bits distinguish nearly all keys; an insertion sort fixes the rest. It
//     gives up if it would move too many elements (clustered keys), and then the bucket is sorted by all digits.
//
// Measured on one Neoverse-V1 core, 2^24 random u32 keys, millions of pairs per second with values of 0 / 4 / 8 / 16
// bytes, one pass per digit: 100 / 65 / 74 / 60 for this code; 91 / 55 / 59 / 64 with writes of one cache line (a line
// is loaded right after its last scalar store, which stalls); 83 / 36 / 40 / 39 without buffers; 121 / 68 / 49 / 40
// with digits of 11 bits, whose buffers do not fit L1.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"

namespace espalier {

namespace {

constexpr unsigned digit_bits = 8;
constexpr std::size_t buckets = std::size_t{1} << digit_bits;
constexpr std::size_t insertion_limit = 32;
constexpr std::size_t least_chunk = std::size_t{1} << 15;  // smaller chunks are not worth a task
constexpr std::size_t least_split = std::size_t{1} << 13;  // smaller buckets would hardly have one element each

struct no_value {};
struct value_16 {
  std::uint64_t lo, hi;
};

template <class Word, class Value>
struct arrays {
  Word* keys;
  Value* values;
  [[nodiscard]] arrays from(std::size_t i) const { return {keys + i, values == nullptr ? nullptr : values + i}; }
};

template <class Value>
constexpr bool has_values = !std::is_same_v<Value, no_value>;

// State of one chunk during a pass. Slot i of a line belongs to an output index that is i modulo line_keys, so that a
// full line is contiguous in the output.
template <class Word, class Value>
struct alignas(64) workspace {
  static constexpr std::size_t line_keys = 128 / sizeof(Word);
  struct line {
    Word keys[line_keys];
    Value values[has_values<Value> ? line_keys : 1];
  };
  line lines[buckets];
  std::size_t next[buckets];   // counts, then the output index of the next element of each bucket
  std::size_t begin[buckets];  // start of the chunk's part of each bucket
  Word differs;
};

// Stable insertion sort. Returns false if it would have to move more than `most` elements; the elements are then
// permuted, with equal keys in their previous order.
template <class Word, class Value>
bool insertion_sort(arrays<Word, Value> a, std::size_t n, Word mask, std::size_t most) {
  std::size_t moved = 0;
  for (std::size_t i = 1; i < n; ++i) {
    const Word key = a.keys[i];
    if ((a.keys[i - 1] & mask) <= (key & mask)) continue;
    Value value{};
    if constexpr (has_values<Value>) value = a.values[i];
    std::size_t j = i;
    for (; j > 0 && (a.keys[j - 1] & mask) > (key & mask); --j) {
      a.keys[j] = a.keys[j - 1];
      if constexpr (has_values<Value>) a.values[j] = a.values[j - 1];
    }
    a.keys[j] = key;
    if constexpr (has_values<Value>) a.values[j] = value;
    moved += i - j;
    if (moved > most) return false;
  }
  return true;
}

template <class Word>
void count_digits(const Word* keys, std::size_t first, std::size_t last, unsigned shift, Word mask,
                  std::size_t* counts) {
  std::uint32_t even[buckets] = {};  // two sets: a run of equal digits must not wait for its own store
  std::uint32_t odd[buckets] = {};
  std::fill_n(counts, buckets, 0);
  constexpr std::size_t block = std::size_t{1} << 30;  // 32-bit counters cannot overflow
  for (std::size_t from = first; from < last;) {
    const std::size_t to = std::min(last, from + block);
    std::size_t i = from;
    for (; i + 1 < to; i += 2) {
      ++even[(keys[i] >> shift) & mask];
      ++odd[(keys[i + 1] >> shift) & mask];
    }
    if (i < to) ++even[(keys[i] >> shift) & mask];
    for (std::size_t b = 0; b < buckets; ++b) counts[b] += std::exchange(even[b], 0u) + std::exchange(odd[b], 0u);
    from = to;
  }
}

// Writes the buffered elements of bucket `b` with output indices [from, to), all within one line.
template <class Word, class Value>
void flush(const workspace<Word, Value>& work, std::size_t b, std::size_t from, std::size_t to,
           arrays<Word, Value> out) {
  const std::size_t slot = from % workspace<Word, Value>::line_keys;
  std::memcpy(out.keys + from, &work.lines[b].keys[slot], (to - from) * sizeof(Word));
  if constexpr (has_values<Value>) {
    std::memcpy(out.values + from, &work.lines[b].values[slot], (to - from) * sizeof(Value));
  }
}

template <class Word, class Value>
void scatter(workspace<Word, Value>& work, arrays<Word, Value> in, std::size_t first, std::size_t last, unsigned shift,
             Word mask, arrays<Word, Value> out) {
  constexpr std::size_t line = workspace<Word, Value>::line_keys;
  std::copy_n(work.next, buckets, work.begin);
  for (std::size_t i = first; i < last; ++i) {
    const Word key = in.keys[i];
    const std::size_t b = (key >> shift) & mask;
    const std::size_t at = work.next[b]++;
    const std::size_t slot = at % line;
    work.lines[b].keys[slot] = key;
    if constexpr (has_values<Value>) work.lines[b].values[slot] = in.values[i];
    if (slot == line - 1) {
      const std::size_t line_first = at - (line - 1);
      if (line_first >= work.begin[b]) {
        flush(work, b, line_first, line_first + line, out);  // constant length: inlined as a few vector stores
      } else {
        flush(work, b, work.begin[b], at + 1, out);
      }
    }
  }
  for (std::size_t b = 0; b < buckets; ++b) {
    const std::size_t to = work.next[b];
    const std::size_t from = std::max(work.begin[b], to - to % line);
    if (from < to) flush(work, b, from, to, out);
  }
}

template <class Word>
Word differing_bits(const Word* keys, std::size_t first, std::size_t last) {
  const Word reference = keys[0];
  Word differs = 0;
  for (std::size_t i = first; i < last; ++i) differs |= keys[i] ^ reference;
  return differs;
}

// The lowest digit in which keys differ.
template <class Word>
struct low_digit {
  unsigned shift;
  Word mask;
  low_digit(Word differs, Word of) : shift(static_cast<unsigned>(std::countr_zero(differs))) {
    mask = (of >> shift) & (buckets - 1);
  }
  [[nodiscard]] Word above(Word of) const { return of & ~static_cast<Word>(mask << shift); }
};
// Calls body(digit) for the digits in which keys differ, lowest first; returns their number.
template <class Word, class Body>
unsigned for_each_digit(Word differs, Word mask, const Body& body) {
  unsigned digits = 0;
  for (; differs != 0; ++digits) {
    const low_digit<Word> low(differs, mask);
    body(low);
    differs = low.above(differs);
  }
  return digits;
}
template <class Word>
unsigned digits_of(Word differs, Word mask) {
  return for_each_digit(differs, mask, [](const low_digit<Word>&) {});
}
// The digit with the highest bit in which keys differ.
template <class Word>
struct top_digit {
  unsigned shift;
  Word mask;
  top_digit(Word differs, Word of) {
    const auto width = static_cast<unsigned>(std::bit_width(differs));
    shift = width < digit_bits ? 0 : width - digit_bits;
    mask = (of >> shift) & (buckets - 1);
  }
  // The bits left to sort by; the bits above are equal within a bucket.
  [[nodiscard]] Word below(Word of) const { return of & static_cast<Word>((Word{1} << shift) - 1); }
};

// Sorts one bucket after the other in one thread.
template <class Word, class Value>
class bucket_sorter {
 public:
  using pairs = arrays<Word, Value>;
  explicit bucket_sorter(workspace<Word, Value>& work) : work_(work) {}

  // Sorts n elements of `in`; the result is in `in` or, with to_other, in `other`.
  void sort(pairs in, pairs other, std::size_t n, Word mask, bool to_other) {
    sort(in, other, n, mask, to_other, true);
  }

 private:
  static constexpr std::size_t element_bytes = sizeof(Word) + (has_values<Value> ? sizeof(Value) : 0);
  static constexpr std::size_t near_bytes = std::size_t{1} << 18;  // twice that fits a core's L2

  void sort(pairs in, pairs other, std::size_t n, Word mask, bool to_other, bool may_split) {
    const Word differs = n < 2 ? 0 : differing_bits(in.keys, 0, n) & mask;
    if (differs == 0) {
      if (to_other) copy(other, in, n);
    } else if (n * element_bytes <= near_bytes) {
      sort_near(in, other, n, mask, differs, to_other, may_split);
    } else {
      split(in, other, n, mask, differs, to_other, true);
    }
  }
  void split(pairs in, pairs other, std::size_t n, Word mask, Word differs, bool to_other, bool may_split) {
    const top_digit<Word> top(differs, mask);
    count_digits(in.keys, 0, n, top.shift, top.mask, work_.next);
    std::size_t ends[buckets];
    std::size_t total = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      total += std::exchange(work_.next[b], total);
      ends[b] = total;
    }
    scatter(work_, in, 0, n, top.shift, top.mask, other);
    for (std::size_t b = 0, begin = 0; b < buckets; begin = ends[b++])
      sort(other.from(begin), in.from(begin), ends[b] - begin, top.below(mask), !to_other, may_split);
  }
  void sort_near(pairs in, pairs other, std::size_t n, Word mask, Word differs, bool to_other, bool may_split) {
    bool is_in_other = false;
    const auto by_digits = [&](Word by) {
      for_each_digit(by, mask, [&](const low_digit<Word>& low) {
        pass(in, other, n, low.shift, low.mask);
        std::swap(in, other);
        is_in_other = !is_in_other;
      });
    };
    if (n <= insertion_limit) {
      static_cast<void>(insertion_sort(in, n, mask, n * n));
    } else if (const Word telling = telling_bits(n, mask, differs); telling == differs) {
      by_digits(differs);
    } else {
      by_digits(telling);
      if (!insertion_sort(in, n, mask, 4 * n)) {  // a few distant keys may be the reason
        if (may_split) return split(in, other, n, mask, differs, is_in_other != to_other, false);
        by_digits(differs);
      }
    }
    if (is_in_other != to_other) copy(other, in, n);
  }
  // The highest bits, which leave little to the insertion sort if keys are spread; all bits, if those are hardly more
  // digits.
  static Word telling_bits(std::size_t n, Word mask, Word differs) {
    const unsigned telling = n <= 256 ? 8 : n <= 4096 ? 16 : 24;
    const auto width = static_cast<unsigned>(std::bit_width(differs));
    if (width <= telling || digits_of(differs, mask) <= telling / digit_bits) return differs;
    return differs & static_cast<Word>(~Word{0} << (width - telling));
  }
  // A pass over so few elements that it needs no buffers.
  static void pass(pairs in, pairs out, std::size_t n, unsigned shift, Word digit) {
    std::uint32_t next[buckets] = {};
    for (std::size_t i = 0; i < n; ++i) ++next[(in.keys[i] >> shift) & digit];
    std::uint32_t total = 0;
    for (std::uint32_t& count : next) total += std::exchange(count, total);
    for (std::size_t i = 0; i < n; ++i) {
      const Word key = in.keys[i];
      const std::uint32_t at = next[(key >> shift) & digit]++;
      out.keys[at] = key;
      if constexpr (has_values<Value>) out.values[at] = in.values[i];
    }
  }
  static void copy(pairs to, pairs from, std::size_t n) {
    std::copy_n(from.keys, n, to.keys);
    if constexpr (has_values<Value>) std::copy_n(from.values, n, to.values);
  }

  workspace<Word, Value>& work_;
};

template <class Word, class Value>
class sorter {
 public:
  using pairs = arrays<Word, Value>;
  sorter(const cpu_backend& backend, std::size_t n)
      : backend_(backend),
        chunks_(std::clamp<std::size_t>(n / least_chunk, 1, backend.threads() == 1 ? 1 : 2 * backend.threads())),
        memory_(backend.get_device(), chunks_ * sizeof(workspace<Word, Value>), {}),
        work_(static_cast<workspace<Word, Value>*>(memory_.data())) {
    std::uninitialized_default_construct_n(work_, chunks_);
  }

  bool run(pairs from, pairs to, std::size_t n, Word mask) {
    const Word differs = differing(from.keys, n) & mask;
    if (digits_of(differs, mask) > (n < least_split ? 4 : 3)) {
      by_buckets(from, to, n, mask, differs, true);
      return true;
    }
    const unsigned passes = for_each_digit(differs, mask, [&](const low_digit<Word>& low) {
      pass(from, to, n, low.shift, low.mask);
      std::swap(from, to);
    });
    return passes % 2 != 0;
  }

 private:
  template <class Body>
  void for_each_workspace(Body body) const {
    backend_.for_each_chunk(chunks_, 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t c = first; c < last; ++c) body(c, work_[c]);
    });
  }
  template <class Body>
  void for_each_part(std::size_t n, Body body) const {
    // chunks_ * n may overflow, so the remainder is distributed over the first chunks instead.
    const auto part = [&](std::size_t c) { return n / chunks_ * c + std::min(c, n % chunks_); };
    for_each_workspace([&](std::size_t c, workspace<Word, Value>& work) { body(work, part(c), part(c + 1)); });
  }

  Word differing(const Word* keys, std::size_t n) const {
    for_each_part(n, [keys](workspace<Word, Value>& work, std::size_t first, std::size_t last) {
      work.differs = differing_bits(keys, first, last);
    });
    Word all = 0;
    for (std::size_t c = 0; c < chunks_; ++c) all |= work_[c].differs;
    return all;
  }

  // Writes the ends of the buckets to `ends` if it is not null.
  void pass(pairs from, pairs to, std::size_t n, unsigned shift, Word digit, std::size_t* ends = nullptr) const {
    for_each_part(n, [=](workspace<Word, Value>& work, std::size_t first, std::size_t last) {
      count_digits(from.keys, first, last, shift, digit, work.next);
    });
    std::size_t total = 0;
    for (std::size_t b = 0; b < buckets; ++b) {
      for (std::size_t c = 0; c < chunks_; ++c) total += std::exchange(work_[c].next[b], total);
      if (ends != nullptr) ends[b] = total;
    }
    for_each_part(n, [=](workspace<Word, Value>& work, std::size_t first, std::size_t last) {
      scatter(work, from, first, last, shift, digit, to);
    });
  }

  // As bucket_sorter::sort, by all threads.
  void by_buckets(pairs in, pairs other, std::size_t n, Word mask, Word differs, bool to_other) const {
    const top_digit<Word> top(differs, mask);
    std::size_t ends[buckets];
    pass(in, other, n, top.shift, top.mask, ends);
    const Word rest = top.below(mask);
    const auto begin = [&ends](std::size_t b) { return b == 0 ? 0 : ends[b - 1]; };
    const std::size_t share = std::max(n / backend_.threads(), least_chunk);
    const auto is_large = [&](std::size_t b) { return chunks_ != 1 && ends[b] - begin(b) > share; };
    std::atomic<std::size_t> next{0};
    for_each_workspace([&](std::size_t, workspace<Word, Value>& work) {
      bucket_sorter<Word, Value> one(work);
      for (std::size_t b; (b = next.fetch_add(1, std::memory_order_relaxed)) < buckets;) {
        if (!is_large(b)) one.sort(other.from(begin(b)), in.from(begin(b)), ends[b] - begin(b), rest, !to_other);
      }
    });
    for (std::size_t b = 0; b < buckets; ++b) {
      if (!is_large(b)) continue;
      const std::size_t size = ends[b] - begin(b);
      const pairs here = other.from(begin(b)), there = in.from(begin(b));
      const Word still = differing(here.keys, size) & rest;
      if (still != 0) {
        by_buckets(here, there, size, rest, still, !to_other);
      } else if (!to_other) {
        std::copy_n(here.keys, size, there.keys);
        if constexpr (has_values<Value>) std::copy_n(here.values, size, there.values);
      }
    }
  }

  const cpu_backend& backend_;
  std::size_t chunks_;
  raw_buffer memory_;
  workspace<Word, Value>* work_;
};

template <class Word, class Value>
bool sort(const cpu_backend& backend, Word* keys, Word* keys_alt, void* values, void* values_alt, std::size_t n,
          Word mask) {
  const arrays<Word, Value> from{keys, static_cast<Value*>(values)};
  if (n <= insertion_limit) {
    static_cast<void>(insertion_sort(from, n, mask, n * n));
    return false;
  }
  return sorter<Word, Value>(backend, n).run(from, {keys_alt, static_cast<Value*>(values_alt)}, n, mask);
}

// Bits [begin, end) of a word.
template <class Word>
Word bit_range(unsigned begin, unsigned end) {
  constexpr unsigned width = 8 * sizeof(Word);
  const unsigned stop = std::min(end, width);
  if (begin >= stop) return 0;
  const Word below = stop == width ? ~Word{0} : static_cast<Word>((Word{1} << stop) - 1);
  return below & static_cast<Word>(~Word{0} << begin);
}

}  // namespace

template <class Word>
bool cpu_backend::sort_pairs(Word* keys, Word* keys_alt, void* values, void* values_alt, unsigned value_bytes,
                             std::size_t n, unsigned begin_bit, unsigned end_bit) const {
  const Word mask = bit_range<Word>(begin_bit, end_bit);
  if (n < 2 || mask == 0) return false;
  switch (value_bytes) {
    case 0:
      return sort<Word, no_value>(*this, keys, keys_alt, values, values_alt, n, mask);
    case 4:
      return sort<Word, std::uint32_t>(*this, keys, keys_alt, values, values_alt, n, mask);
    case 8:
      return sort<Word, std::uint64_t>(*this, keys, keys_alt, values, values_alt, n, mask);
    case 16:
      return sort<Word, value_16>(*this, keys, keys_alt, values, values_alt, n, mask);
    default:
      throw error("sort_pairs() takes values of 0, 4, 8 or 16 bytes; widen the values first.");
  }
}

template bool cpu_backend::sort_pairs(std::uint32_t*, std::uint32_t*, void*, void*, unsigned, std::size_t, unsigned,
                                      unsigned) const;
template bool cpu_backend::sort_pairs(std::uint64_t*, std::uint64_t*, void*, void*, unsigned, std::size_t, unsigned,
                                      unsigned) const;

}  // namespace espalier
