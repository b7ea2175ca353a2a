// text_sorter.hpp - sorts rows by their texts, as many characters at once as one word can tell apart.
//
// 1. A level works on rows whose texts are equal up to a depth, and so at least that long. It skips what all have in
//    common behind it, writes the next characters of each text into a word, and sorts by the words.
// 2. A character takes as many bits as the different bytes there need, and the end of a text is one more code below
//    them all. So words are in the order of the texts, whatever bytes these have (NUL, too), and equal words that hold
//    an end are equal texts.
// 3. Rows with equal words without an end are the next level. They are in their order in the table, as all rows that
//    are equal so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace espalier::engine {

class text_sorter {
 public:
  /// `texts` by row number.
  text_sorter(std::span<const std::string_view> texts, bool descending) : texts_(texts), descending_(descending) {}

  /// Puts rows, which ascend, in order. Afterwards `starts` is 1 where a text is another one than that before it.
  void sort(std::span<std::int64_t> rows, std::span<std::uint8_t> starts) const;

 private:
  struct level;
  void sort_from(std::span<std::int64_t> rows, std::span<std::uint8_t> starts, std::size_t depth,
                 unsigned levels) const;
  void sort_by_comparing(std::span<std::int64_t> rows, std::span<std::uint8_t> starts, std::size_t depth) const;
  void sort_few(const level& at, std::span<std::int64_t> rows, std::span<std::uint8_t> starts, unsigned levels) const;
  void sort_many(const level& at, std::span<std::int64_t> rows, std::span<std::uint8_t> starts, unsigned levels) const;
  [[nodiscard]] level level_of(std::span<const std::int64_t> rows, std::size_t depth) const;
  [[nodiscard]] std::size_t common_depth(std::span<const std::int64_t> rows, std::size_t depth) const;

  [[nodiscard]] std::string_view text(std::int64_t row) const { return texts_[static_cast<std::size_t>(row)]; }
  void prefetch(std::span<const std::int64_t> rows, std::size_t i, std::size_t depth) const;

  std::span<const std::string_view> texts_;
  bool descending_;
};

}  // namespace espalier::engine
