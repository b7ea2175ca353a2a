// estimate.hpp - estimates the number of elements of a long range from a sample of the leaves that the lane names in
// it.
//
// The lane gives the lines of both ends. A sample of the lines in between, evenly spaced, is counted, each with the
// leaves that were split off since the lane was built. At most most_leaves_of_a_line leaves are counted per line: this
// bounds the cost of the sample, and a line that was split often does not dominate the estimate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::detail {

inline constexpr std::size_t sampled_lines = 64;
inline constexpr std::uint64_t most_leaves_of_a_line = 4;

/// Closed ranges to be counted: from the lower end to the end of its line, from the start of the upper end's line to
/// the upper end, then the samples. Empty if the range is so short that it should be counted itself.
template <class Word>
struct range_sample {
  std::vector<Word> lo, hi;
  std::uint64_t between = 0;  ///< number of lines that the samples represent

  /// `highs` ascend, and line i has the keys above highs[i - 1] up to highs[i].
  static range_sample of(std::span<const Word> highs, Word lo, Word hi) {
    range_sample out;
    if (highs.empty() || lo > hi) return out;
    const auto line_of = [&](Word x) {
      const auto at = std::lower_bound(highs.begin(), highs.end(), x) - highs.begin();
      return std::min(static_cast<std::size_t>(at), highs.size() - 1);
    };
    const std::size_t first = line_of(lo), last = line_of(hi);
    if (last - first <= sampled_lines + 1) return out;
    const auto low_of = [&](std::size_t line) { return static_cast<Word>(highs[line - 1] + 1); };
    out.between = last - first - 1;
    out.add(lo, highs[first]);
    out.add(low_of(last), hi);
    for (std::size_t i = 0; i < sampled_lines; ++i) {
      const std::size_t line = first + 1 + (2 * i + 1) * out.between / (2 * sampled_lines);
      out.add(low_of(line), highs[line]);
    }
    return out;
  }

  /// Returns the estimate from the counts of the ranges.
  [[nodiscard]] std::uint64_t total(std::span<const std::uint64_t> counts) const {
    std::uint64_t sampled = 0;
    for (const std::uint64_t count : counts.subspan(2)) sampled += count;
    const double each = static_cast<double>(sampled) / static_cast<double>(sampled_lines);
    return counts[0] + counts[1] + static_cast<std::uint64_t>(each * static_cast<double>(between));
  }

 private:
  void add(Word from, Word to) {
    lo.push_back(from);
    hi.push_back(to);
  }
};

}  // namespace espalier::detail
