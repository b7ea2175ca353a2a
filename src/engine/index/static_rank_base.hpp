// static_rank_base.hpp - ranks of word keys: a static tree in host memory and, for large batches, a second one on the
// GPU to which the index is assigned.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/index/host_device.hpp"
#include "engine/index/ordered_keys.hpp"
#include "engine/index/table_index.hpp"
#include "engine/index/word_device.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::engine {

struct rank_pair {
  std::uint64_t from = 0, to = 0;
};

template <class Word>
class static_rank_base {
 public:
  using key = std::uint64_t;

  static_rank_base(ordered_keys keys, const device& where);

  /// Returns the device's results if the batch is large enough; returns nothing, or null, without a device.
  [[nodiscard]] std::optional<std::vector<std::uint64_t>> edge_on_device(const range_batch& ranges, bool last) const;
  void get_ready_on_device(const summary_source& column) const {
    if (on_device_) on_device_->prepare_aggregates(column);
  }
  [[nodiscard]] std::shared_ptr<arrow::Array> sum_on_device(const summary_source& column,
                                                            const range_batch& ranges) const;

  [[nodiscard]] const number_array& rows() const { return rows_; }
  [[nodiscard]] std::uint64_t keyed_rows() const { return rows_.size() - null_rows_; }
  [[nodiscard]] std::uint64_t null_rows() const { return null_rows_; }
  [[nodiscard]] const std::shared_ptr<const key_encoder>& encoder() const { return encoder_; }

  /// Returns the ranks of each range that has bounds.
  [[nodiscard]] std::vector<rank_pair> bounds(const range_batch& ranges) const;
  /// Returns the ranks [first, last) of the rows of each key.
  [[nodiscard]] std::vector<rank_pair> equal_ranges(const encoded_keys& keys) const;

  /// Reads the keys of these ranks; all of them have a key.
  void read_keys(const range_batch& ranges, std::size_t i, rank_pair ranks, key_order order, encoded_keys& out) const;
  [[nodiscard]] static constexpr bool reads_any_rank() { return true; }

  [[nodiscard]] static key key_of(const encoded_keys& keys, std::size_t i) { return keys.words[i]; }
  [[nodiscard]] static bool is_below(key k, const range_batch& ranges, std::size_t i) { return k < ranges.lo_words[i]; }
  [[nodiscard]] static bool is_above(key k, const range_batch& ranges, std::size_t i) { return k > ranges.hi_words[i]; }

  [[nodiscard]] ordered_keys content() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::string validate() const;
  [[nodiscard]] static constexpr index_kind kind() { return index_kind::static_tree; }
  [[nodiscard]] static std::string name() { return sizeof(Word) == 4 ? "32-bit words" : "64-bit words"; }

 private:
  [[nodiscard]] bool is_for_device(std::size_t questions) const { return on_device_ && questions >= device_batch; }
  [[nodiscard]] std::vector<rank_pair> search(std::span<const std::uint64_t> lo,
                                              std::span<const std::uint64_t> hi) const;

  std::shared_ptr<const key_encoder> encoder_;
  number_array rows_;
  std::uint64_t null_rows_ = 0;
  device host_;
  static_tree<Word> tree_;
  std::unique_ptr<word_device<Word>> on_device_;
};

extern template class static_rank_base<std::uint32_t>;
extern template class static_rank_base<std::uint64_t>;

}  // namespace espalier::engine
