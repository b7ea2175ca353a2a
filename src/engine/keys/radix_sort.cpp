// radix_sort.cpp - radix sort by the 32 most significant bits in which words differ, with 32-bit row numbers. It takes
// half the memory of whole words and half the passes. Rows with equal prefixes are adjacent then. Usually few words
// differ in lower bits; each such run is sorted separately.
#include "engine/keys/radix_sort.hpp"

#include <algorithm>
#include <bit>
#include <memory>

#include "engine/parallel.hpp"
#include "espalier/device/cpu.hpp"

namespace espalier::engine {
namespace {

constexpr unsigned prefix_bits = 32;

template <class T>
struct two_arrays {
  explicit two_arrays(std::size_t n)
      : first(std::make_unique_for_overwrite<T[]>(n)), second(std::make_unique_for_overwrite<T[]>(n)) {}
  std::unique_ptr<T[]> first, second;
};

template <class Word>
void sort_by_word(two_arrays<Word>& words, two_arrays<std::uint32_t>& rows, std::size_t n) {
  const device host = device::cpu(static_cast<unsigned>(parallel_width()));
  if (cpu_backend(host).sort_pairs(words.first.get(), words.second.get(), rows.first.get(), rows.second.get(),
                                   sizeof(std::uint32_t), n, 0, sizeof(Word) * 8)) {
    words.first.swap(words.second);
    rows.first.swap(rows.second);
  }
}

struct word_extent {
  std::uint64_t least = ~std::uint64_t{0};
  std::uint64_t most = 0;
};

word_extent extent_of(std::span<const std::uint64_t> words) {
  constexpr std::size_t piece = std::size_t{1} << 16;
  std::vector<word_extent> pieces((words.size() + piece - 1) / piece);
  parallel_for(pieces.size(), [&](std::size_t i) {
    word_extent mine;
    for (const auto word : words.subspan(i * piece, std::min(piece, words.size() - i * piece))) {
      mine.least = std::min(mine.least, word);
      mine.most = std::max(mine.most, word);
    }
    pieces[i] = mine;
  });
  word_extent out;
  for (const auto& piece_extent : pieces) {
    out.least = std::min(out.least, piece_extent.least);
    out.most = std::max(out.most, piece_extent.most);
  }
  return out;
}

// Sorts rows with equal prefixes; the sort is stable.
void sort_run(std::span<const std::uint64_t> words, std::span<std::uint32_t> rows) {
  const auto is_first = [&](std::uint32_t row) { return words[row] == words[rows[0]]; };
  if (std::all_of(rows.begin(), rows.end(), is_first)) return;  // few distinct words
  constexpr std::size_t worth_radix = std::size_t{1} << 12;
  if (rows.size() < worth_radix) {
    std::sort(rows.begin(), rows.end(),
              [&](std::uint32_t a, std::uint32_t b) { return words[a] != words[b] ? words[a] < words[b] : a < b; });
    return;
  }
  two_arrays<std::uint64_t> run_words(rows.size());
  two_arrays<std::uint32_t> run_rows(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) run_words.first[i] = words[rows[i]];
  std::copy(rows.begin(), rows.end(), run_rows.first.get());
  sort_by_word(run_words, run_rows, rows.size());
  std::copy_n(run_rows.first.get(), rows.size(), rows.begin());
}

// A run belongs to the piece in which it starts.
void sort_runs(std::span<const std::uint64_t> words, std::span<const std::uint32_t> prefixes,
               std::span<std::uint32_t> rows) {
  const auto run_end = [&](std::size_t i, std::size_t limit) {
    while (i > 0 && i < limit && prefixes[i] == prefixes[i - 1]) ++i;
    return i;
  };
  parallel_pieces(rows.size(), [&](std::size_t begin, std::size_t end) {
    std::size_t first = run_end(begin, end);
    while (first < end) {
      const std::size_t last = run_end(first + 1, rows.size());
      if (last - first > 1) sort_run(words, rows.subspan(first, last - first));
      first = last;
    }
  });
}

}  // namespace

std::vector<std::int64_t> rows_in_word_order(std::span<const std::uint64_t> words, std::span<std::uint8_t> starts) {
  const std::size_t n = words.size();
  const auto [least, most] = extent_of(words);
  const auto bits = n == 0 ? 0U : static_cast<unsigned>(std::bit_width(most - least));
  const unsigned shift = bits > prefix_bits ? bits - prefix_bits : 0;
  two_arrays<std::uint32_t> prefixes(n), rows(n);
  parallel_pieces(n, [&, base = least](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      prefixes.first[i] = static_cast<std::uint32_t>((words[i] - base) >> shift);
      rows.first[i] = static_cast<std::uint32_t>(i);
    }
  });
  sort_by_word(prefixes, rows, n);
  if (shift > 0) sort_runs(words, {prefixes.first.get(), n}, {rows.first.get(), n});
  if (!starts.empty()) {
    const auto same = [&](std::size_t i) {
      return prefixes.first[i] == prefixes.first[i - 1] &&
             (shift == 0 || words[rows.first[i]] == words[rows.first[i - 1]]);
    };
    parallel_pieces(n, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = std::max<std::size_t>(begin, 1); i < end; ++i) starts[i] = same(i) ? 0 : 1;
    });
  }
  std::vector<std::int64_t> out(n);
  parallel_pieces(n, [&](std::size_t begin, std::size_t end) {
    std::copy(rows.first.get() + begin, rows.first.get() + end, out.begin() + static_cast<std::ptrdiff_t>(begin));
  });
  return out;
}

}  // namespace espalier::engine
