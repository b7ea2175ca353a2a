// radix_rank_base.hpp - ranks of byte keys: a radix tree over the distinct keys, and the start of each key's rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/index/host_device.hpp"
#include "engine/index/ordered_keys.hpp"
#include "engine/index/static_rank_base.hpp"
#include "espalier/radix_tree/radix_tree.hpp"

namespace espalier::engine {

class radix_rank_base {
 public:
  using key = std::string;

  radix_rank_base(ordered_keys keys, const device& where);

  /// The device only answers ranks.
  [[nodiscard]] static std::optional<std::vector<std::uint64_t>> edge_on_device(const range_batch&, bool) {
    return std::nullopt;
  }
  static void get_ready_on_device(const summary_source&) {}
  [[nodiscard]] static std::shared_ptr<arrow::Array> sum_on_device(const summary_source&, const range_batch&) {
    return nullptr;
  }

  [[nodiscard]] const number_array& rows() const { return rows_; }
  [[nodiscard]] std::uint64_t keyed_rows() const { return rows_.size() - null_rows_; }
  [[nodiscard]] std::uint64_t null_rows() const { return null_rows_; }
  [[nodiscard]] const std::shared_ptr<const key_encoder>& encoder() const { return encoder_; }

  /// Returns the ranks of each range that has bounds.
  [[nodiscard]] std::vector<rank_pair> bounds(const range_batch& ranges) const;
  /// Returns the ranks [first, last) of the rows of each key.
  [[nodiscard]] std::vector<rank_pair> equal_ranges(const encoded_keys& keys) const;

  /// Reads the keys of these ranks of range i; all of them have a key.
  void read_keys(const range_batch& ranges, std::size_t i, rank_pair ranks, key_order order, encoded_keys& out) const;
  [[nodiscard]] static constexpr bool reads_any_rank() { return false; }

  [[nodiscard]] static key key_of(const encoded_keys& keys, std::size_t i) { return key(keys.bytes[i]); }
  [[nodiscard]] static bool is_below(const key& k, const range_batch& ranges, std::size_t i) {
    return k < ranges.lo_bytes[i];
  }
  [[nodiscard]] static bool is_above(const key& k, const range_batch& ranges, std::size_t i) {
    return ranges.mark_of(i) != range_batch::mark::from_lo && k >= ranges.hi_bytes[i];
  }

  [[nodiscard]] ordered_keys content() const;
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] std::string validate() const;
  [[nodiscard]] static constexpr index_kind kind() { return index_kind::radix; }
  [[nodiscard]] static std::string name() { return "bytes"; }

 private:
  [[nodiscard]] const radix_tree<>& tree_for(std::size_t questions) const {
    return on_device_ && questions >= device_batch ? *on_device_ : tree_;
  }
  struct listed_keys {
    std::uint64_t first = 0;  ///< number of the first one among all distinct keys
    std::vector<char> bytes;
    std::vector<std::uint64_t> offsets{0};
    [[nodiscard]] std::string_view operator[](std::uint64_t number) const {
      const std::uint64_t i = number - first;
      return {bytes.data() + offsets[i], offsets[i + 1] - offsets[i]};
    }
  };
  /// Lists distinct keys of range i from its first one on, as many as have at least `rows` rows.
  [[nodiscard]] listed_keys list_keys(const range_batch& ranges, std::size_t i, std::uint64_t rows) const;
  /// Returns the rank of the first row of the n-th distinct key.
  [[nodiscard]] std::uint64_t start(std::uint64_t n) const { return starts_.empty() ? n : starts_[n]; }

  std::shared_ptr<const key_encoder> encoder_;
  number_array rows_;
  number_array starts_;
  std::uint64_t null_rows_ = 0;
  radix_tree<> tree_;
  std::optional<radix_tree<>> on_device_;
};

}  // namespace espalier::engine
