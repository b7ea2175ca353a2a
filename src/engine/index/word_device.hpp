// word_device.hpp - the side of a static index on its device: large batches are answered there and come back as rows
// and sums.
//
// One tree maps words to rows; a column whose sums are asked for in large batches gets another one, words to values
// with sums kept. Both are copies: everything can be answered on the host as well. No CUDA is named here; a CPU device
// does too.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/index/column_aggregates.hpp"
#include "engine/index/number_array.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::engine {

/// Sums of one column over ranges of words.
template <class Word>
class device_sums {
 public:
  virtual ~device_sums() = default;
  /// NULL where there is nothing.
  [[nodiscard]] virtual std::shared_ptr<arrow::Array> answer(std::span<const Word> lo,
                                                             std::span<const Word> hi) const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

template <class Word>
class word_device {
 public:
  using words = std::span<const std::uint64_t>;

  /// Ascending words, and the rows that have them: `rows` may be longer.
  word_device(std::span<const Word> keys, const number_array& rows, const device& where);

  /// Behind the last element of [0, word], for each word; before the first of [word, ...).
  void upper_bound(std::span<const Word> of, std::span<std::uint64_t> ranks) const;
  void lower_bound(std::span<const Word> of, std::span<std::uint64_t> ranks) const;

  /// The first or the last row of each range of words, or no_row. Nothing if a range goes to the end of all words: the
  /// device has no question for that.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> edge(words lo, words hi, bool last) const;

  /// Null if sums of the column cannot be had here: decimals, columns with NULLs, and floats, whose sums have to be the
  /// same bits wherever they are computed.
  [[nodiscard]] std::shared_ptr<arrow::Array> sum(const summary_source& column, words lo, words hi) const;

  /// What sums of the column need, made now.
  void prepare_aggregates(const summary_source& column) const { static_cast<void>(sums_for(column)); }

  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::string validate() const;

 private:
  template <class Row>
  using row_tree = static_tree<Word, Row>;

  template <class Row>
  [[nodiscard]] std::vector<std::uint64_t> edge_in(const row_tree<Row>& tree, std::vector<Word> next_to, words lo,
                                                   words hi, bool last) const;
  template <class Value>
  [[nodiscard]] std::unique_ptr<device_sums<Word>> make_sums(const summary_source& column) const;
  [[nodiscard]] const device_sums<Word>* sums_for(const summary_source& column) const;
  [[nodiscard]] std::unique_ptr<device_sums<Word>> sums_of(const summary_source& column) const;

  number_array rows_;
  std::optional<row_tree<std::uint32_t>> narrow_;  // one of the two, as wide as the rows
  std::optional<row_tree<std::uint64_t>> wide_;
  mutable std::mutex mutex_;
  mutable std::map<std::size_t, std::unique_ptr<device_sums<Word>>> sums_;  // by column; null: cannot be had
};

extern template class word_device<std::uint32_t>;
extern template class word_device<std::uint64_t>;

}  // namespace espalier::engine
