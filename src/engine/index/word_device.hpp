// word_device.hpp - the device side of a static index: large batches are answered there and returned as rows and sums.
//
// One tree maps words to rows. A column whose sums are requested in large batches gets a second one, which maps words
// to values and keeps sums. Both are copies, so everything can be answered on the host as well. This file does not
// depend on CUDA; a CPU device works, too.
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

/// The sums of one column over ranges of words.
template <class Word>
class device_sums {
 public:
  virtual ~device_sums() = default;
  /// The sum of an empty range is NULL.
  [[nodiscard]] virtual std::shared_ptr<arrow::Array> answer(std::span<const Word> lo,
                                                             std::span<const Word> hi) const = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

template <class Word>
class word_device {
 public:
  using words = std::span<const std::uint64_t>;

  /// `keys` are ascending words and `rows` their rows; `rows` may be longer.
  word_device(std::span<const Word> keys, const number_array& rows, const device& where);

  /// Writes the number of elements below each word or, with bound_type::upper, not above it.
  void rank(std::span<const Word> of, std::span<std::uint64_t> ranks, bound_type bound) const;

  /// Returns the first or the last row of each range of words, or no_row. Returns nothing if a range extends to the
  /// greatest word, which the device does not support.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> edge(words lo, words hi, bool last) const;

  /// Returns null if the device does not support sums of the column: decimals, columns with NULLs, and floats, whose
  /// sums have to be bitwise identical wherever they are computed.
  [[nodiscard]] std::shared_ptr<arrow::Array> sum(const summary_source& column, words lo, words hi) const;

  /// Builds the sums of the column now.
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
  std::optional<row_tree<std::uint32_t>> narrow_;  // one of the two, as wide as the row ids
  std::optional<row_tree<std::uint64_t>> wide_;
  mutable std::mutex mutex_;
  mutable std::map<std::size_t, std::unique_ptr<device_sums<Word>>> sums_;  // by column; null if not supported
};

extern template class word_device<std::uint32_t>;
extern template class word_device<std::uint64_t>;

}  // namespace espalier::engine
