// text_sorter.hpp - sorts rows by their texts, with as many characters at once as one word can distinguish.
//
// 1. A level processes rows whose texts are equal up to a depth and at least that long. It skips their further common
//    prefix, packs the next characters of each text into a word, and sorts by the words.
// 2. A character takes as many bits as the distinct bytes at these positions need, and the end of a text is an
//    additional code below all of them. Words therefore order the texts, whatever their bytes (including NUL), and
//    equal words that contain an end are equal texts.
// 3. Rows with equal words without an end form the next level. The sort is stable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace espalier::engine {

class text_sorter {
 public:
  /// `texts` is indexed by row number.
  text_sorter(std::span<const std::string_view> texts, bool descending) : texts_(texts), descending_(descending) {}

  /// Sorts rows, which are ascending. Afterwards `starts` is 1 where a text differs from the preceding one.
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
