#include "engine/keys/text_sorter.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "engine/keys/radix_sort.hpp"
#include "engine/parallel.hpp"
#include "engine/parallel_sort.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t most_characters = 16;                           // per word
constexpr std::size_t worth_a_level = 24;                             // fewer rows are sorted by comparisons
constexpr std::size_t worth_sorting_by_radix = std::size_t{1} << 12;  // fewer words are sorted by comparisons
constexpr std::size_t rows_of_a_piece = std::size_t{1} << 14;         // rows per thread when searching for runs
constexpr unsigned most_levels = 64;  // recursion limit; longer common prefixes are compared

struct text_run {
  std::size_t begin, end;
};

// Finds runs of several rows with equal words that `goes_on` reports as not fully ordered.
template <class GoesOn>
void collect_runs(std::span<const std::uint8_t> starts, std::size_t begin, std::size_t end, const GoesOn& goes_on,
                  std::vector<text_run>& out) {
  std::size_t first = begin;
  while (first < end && starts[first] == 0) ++first;  // skips a run that starts in the preceding piece
  while (first < end) {
    std::size_t last = first + 1;
    while (last < starts.size() && starts[last] == 0) ++last;
    if (last - first > 1 && goes_on(first)) out.push_back({first, last});
    first = last;
  }
}

}  // namespace

// The encoding of the characters from `depth` on.
struct text_sorter::level {
  std::size_t depth = 0;
  std::size_t characters = 0;  // 0 if all texts end here
  unsigned bits = 0;           // bits per character
  bool ends_all = false;       // no text extends beyond these characters
  std::uint64_t flip = 0;
  std::array<std::uint16_t, 256> codes{};

  [[nodiscard]] std::uint64_t word(std::string_view text) const {
    const std::size_t held = std::min(characters, text.size() - depth);
    const char* const bytes = text.data() + depth;
    std::uint64_t out = 0;
    for (std::size_t i = 0; i < held; ++i) out = out << bits | codes[static_cast<unsigned char>(bytes[i])];
    return (out << (bits * (characters - held) % 64)) ^ flip;  // the shift is 64 bits only if `out` is 0
  }
  [[nodiscard]] bool holds_an_end(std::uint64_t word) const {
    return ((word ^ flip) & ((std::uint64_t{1} << bits) - 1)) == 0;
  }
};

void text_sorter::sort(std::span<std::int64_t> rows, std::span<std::uint8_t> starts) const {
  if (rows.empty()) return;
  starts[0] = 1;
  sort_from(rows, starts, 0, most_levels);
}

// The texts of sorted rows are scattered in memory, so they are prefetched some rows ahead. In the initial order rows
// are adjacent, and the hardware prefetches them.
void text_sorter::prefetch(std::span<const std::int64_t> rows, std::size_t i, std::size_t depth) const {
  constexpr int view_ahead = 32, text_ahead = 16;
  if (i + view_ahead >= rows.size() || rows[i + view_ahead] - rows[i] < std::int64_t{2 * view_ahead}) return;
  __builtin_prefetch(&texts_[static_cast<std::size_t>(rows[i + view_ahead])]);
  __builtin_prefetch(text(rows[i + text_ahead]).data() + depth);
}

// The caller sets the first element of `starts`.
void text_sorter::sort_from(std::span<std::int64_t> rows, std::span<std::uint8_t> starts, std::size_t depth,
                            unsigned levels) const {
  const bool numbered = rows.size() <= std::numeric_limits<std::uint32_t>::max();
  if (rows.size() < worth_a_level || levels == 0 || !numbered) return sort_by_comparing(rows, starts, depth);
  const auto at = level_of(rows, common_depth(rows, depth));
  if (at.characters == 0) return;
  if (rows.size() < worth_sorting_by_radix) return sort_few(at, rows, starts, levels);
  sort_many(at, rows, starts, levels);
}

void text_sorter::sort_by_comparing(std::span<std::int64_t> rows, std::span<std::uint8_t> starts,
                                    std::size_t depth) const {
  const auto rest = [&](std::int64_t row) {
    const auto whole = text(row);
    return std::string_view(whole.data() + depth, whole.size() - depth);
  };
  parallel_sort(rows.begin(), rows.end(), std::ssize(rows), [&](std::int64_t a, std::int64_t b) {
    const int which = rest(a).compare(rest(b));
    return which != 0 ? (which < 0) != descending_ : a < b;
  });
  for_each_row(1, rows.size(), [&](std::size_t i) { starts[i] = rest(rows[i]) != rest(rows[i - 1]) ? 1 : 0; });
}

void text_sorter::sort_few(const level& at, std::span<std::int64_t> rows, std::span<std::uint8_t> starts,
                           unsigned levels) const {
  struct worded_row {
    std::uint64_t word;
    std::int64_t row;
  };
  std::vector<worded_row> order(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) order[i] = {at.word(text(rows[i])), rows[i]};
  std::sort(order.begin(), order.end(), [](const worded_row& a, const worded_row& b) {
    return a.word != b.word ? a.word < b.word : a.row < b.row;
  });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    rows[i] = order[i].row;
    if (i > 0) starts[i] = order[i].word != order[i - 1].word ? 1 : 0;
  }
  if (at.ends_all) return;
  std::vector<text_run> runs;
  collect_runs(
      starts, 0, rows.size(), [&](std::size_t i) { return !at.holds_an_end(order[i].word); }, runs);
  for (const auto [begin, end] : runs) {
    sort_from(rows.subspan(begin, end - begin), starts.subspan(begin, end - begin), at.depth + at.characters,
              levels - 1);
  }
}

void text_sorter::sort_many(const level& at, std::span<std::int64_t> rows, std::span<std::uint8_t> starts,
                            unsigned levels) const {
  const std::size_t n = rows.size();
  std::vector<std::uint64_t> words(n);
  parallel_pieces(n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      prefetch(rows, i, at.depth);
      words[i] = at.word(text(rows[i]));
    }
  });
  auto order = rows_in_word_order(words, starts);
  // All runs are found before any of them is sorted, since sorting changes `starts` within the runs.
  std::vector<std::vector<text_run>> runs(at.ends_all ? 0 : (n + rows_of_a_piece - 1) / rows_of_a_piece);
  parallel_for(runs.size(), [&](std::size_t i) {
    const auto goes_on = [&](std::size_t k) { return !at.holds_an_end(words[static_cast<std::size_t>(order[k])]); };
    collect_runs(starts, i * rows_of_a_piece, std::min(n, (i + 1) * rows_of_a_piece), goes_on, runs[i]);
  });
  parallel_pieces(n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) order[i] = rows[static_cast<std::size_t>(order[i])];
  });
  parallel_pieces(n, [&](std::size_t begin, std::size_t end) {
    std::copy_n(order.data() + begin, end - begin, rows.data() + begin);
  });
  words = {};
  order = {};
  parallel_for(runs.size(), [&](std::size_t i) {
    for (const auto [begin, end] : runs[i]) {
      sort_from(rows.subspan(begin, end - begin), starts.subspan(begin, end - begin), at.depth + at.characters,
                levels - 1);
    }
  });
}

text_sorter::level text_sorter::level_of(std::span<const std::int64_t> rows, std::size_t depth) const {
  std::array<std::uint8_t, 256> used{};
  std::size_t longest = 0;
  std::mutex together;
  parallel_pieces(rows.size(), [&](std::size_t begin, std::size_t end) {
    std::array<std::uint8_t, 256> met{};
    std::size_t most = 0;
    for (std::size_t i = begin; i < end; ++i) {
      prefetch(rows, i, depth);
      const auto rest = text(rows[i]).substr(depth);
      most = std::max(most, rest.size());
      for (const char byte : rest.substr(0, most_characters)) met[static_cast<unsigned char>(byte)] = 1;
    }
    const std::lock_guard lock(together);
    longest = std::max(longest, most);
    for (std::size_t byte = 0; byte < met.size(); ++byte) used[byte] |= met[byte];
  });
  level out;
  out.depth = depth;
  std::uint16_t codes = 0;
  for (std::size_t byte = 0; byte < used.size(); ++byte) {
    if (used[byte] != 0) out.codes[byte] = ++codes;
  }
  if (codes == 0) return out;
  out.bits = static_cast<unsigned>(std::bit_width(codes));
  out.characters = std::min({longest, most_characters, std::size_t{64} / out.bits});
  out.ends_all = longest <= out.characters;
  const auto word_bits = out.bits * out.characters;
  if (descending_) out.flip = ~std::uint64_t{0} >> (64 - word_bits);
  return out;
}

// Returns the length of the common prefix of these texts.
std::size_t text_sorter::common_depth(std::span<const std::int64_t> rows, std::size_t depth) const {
  const auto first = text(rows[0]);
  std::atomic<std::size_t> shared{first.size()};
  parallel_pieces(rows.size(), [&](std::size_t begin, std::size_t end) {
    std::size_t mine = shared.load(std::memory_order_relaxed);
    for (std::size_t i = begin; i < end && mine > depth; ++i) {
      prefetch(rows, i, depth);
      const auto other = text(rows[i]);
      if (other.size() >= mine && std::memcmp(other.data() + depth, first.data() + depth, mine - depth) == 0) continue;
      const char* const last = other.data() + std::min(mine, other.size());
      const auto parts = std::mismatch(other.data() + depth, last, first.data() + depth).first;
      mine = static_cast<std::size_t>(parts - other.data());
    }
    std::size_t seen = shared.load(std::memory_order_relaxed);
    while (mine < seen && !shared.compare_exchange_weak(seen, mine, std::memory_order_relaxed)) {
    }
  });
  return shared.load();
}

}  // namespace espalier::engine
