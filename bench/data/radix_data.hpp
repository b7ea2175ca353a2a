// radix_data.hpp - byte strings with values for the radix tree, queries on them, and the expected results, which are
// derived from the numbers of the strings and from a sorted copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "bench/data/answers.hpp"
#include "bench/data/byte_generators.hpp"
#include "bench/data/column.hpp"

namespace espalier::bench {

/// Sorted keys, as positions in a column.
class sorted_strings {
 public:
  explicit sorted_strings(const byte_column& keys);
  /// Returns the number of keys less than this one.
  [[nodiscard]] std::uint64_t rank_of(std::string_view key) const;
  [[nodiscard]] std::uint64_t count_prefix(std::string_view prefix) const;
  [[nodiscard]] std::uint64_t size() const { return positions_.size(); }
  /// Returns the position in the column of the key with this rank.
  [[nodiscard]] std::uint32_t position(std::uint64_t rank) const { return positions_[rank]; }
  [[nodiscard]] std::string_view operator[](std::uint64_t rank) const { return keys_[positions_[rank]]; }

 private:
  const byte_column& keys_;
  std::vector<std::uint32_t> positions_;
};

class radix_data {
 public:
  radix_data(const byte_spec& spec, std::uint64_t keys);
  radix_data(const radix_data&) = delete;
  radix_data& operator=(const radix_data&) = delete;

  [[nodiscard]] const byte_generator& generator() const { return generator_; }
  [[nodiscard]] const byte_column& keys() const { return keys_; }
  /// Returns the length of every key, or 0 if lengths differ.
  [[nodiscard]] std::size_t one_length() const { return generator_.one_length() ? generator_.spec().key_length : 0; }
  [[nodiscard]] const column& values() const { return values_; }
  /// Built at the first call, since point queries do not need it.
  [[nodiscard]] const sorted_strings& sorted() const;

 private:
  byte_generator generator_;
  byte_column keys_;
  column values_;
  mutable std::optional<sorted_strings> sorted_;
};

struct radix_questions {
  byte_column keys;
  std::size_t one_length = 0;          ///< length of every key, or 0
  std::vector<std::uint64_t> numbers;  ///< numbers of the keys in their data set; those of the tree are first
  [[nodiscard]] std::size_t size() const { return keys.size(); }
};

/// `hit_rate` of the queries are for keys of the tree, the others for keys that follow them in the data set;
/// count-prefix uses the first half of each key. Throws bad_arguments if no keys follow.
[[nodiscard]] radix_questions make_radix_questions(operation op, const radix_data& data, std::uint64_t n,
                                                   double hit_rate);

/// Returns uninitialised columns.
[[nodiscard]] answers make_radix_answers(operation op, std::size_t questions);
[[nodiscard]] answers expected_answers(operation op, const radix_data& data, const radix_questions& questions);
/// As for the other indexes (answers.hpp).
[[nodiscard]] std::optional<std::string> difference(operation op, const byte_column& keys, const answers& ours,
                                                    const answers& theirs, const std::string& their_name,
                                                    std::size_t first_questions);

}  // namespace espalier::bench
