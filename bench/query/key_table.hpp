// key_table.hpp - the tables of paper 001: n keys of 32 bits, 0 to n - 1, in random order; the queries on them and
// their expected results.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bench/query/row_files.hpp"

namespace espalier::bench {

/// identical: (k, v) with v = k. non_identical: rows of several columns that the key refers to.
enum class pair_kind : std::uint8_t { identical, non_identical };
enum class key_question : std::uint8_t { range, count, sum };

[[nodiscard]] const char* name_of(pair_kind kind);
[[nodiscard]] const char* name_of(key_question question);

/// Both bounds are inclusive.
struct key_range {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
};

class key_table {
 public:
  key_table(pair_kind kind, std::uint64_t rows, std::uint64_t seed) : kind_(kind), rows_(rows), seed_(seed) {}

  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  [[nodiscard]] row_source source() const;

  /// Returns ranges of that many keys at random positions, from 0 if the table has fewer keys.
  [[nodiscard]] std::vector<key_range> ranges(std::size_t count, std::uint64_t keys) const;
  /// Returns a statement on the table `t`.
  [[nodiscard]] std::string statement(key_question question, const key_range& range) const;
  [[nodiscard]] std::vector<std::string> statements(key_question question, const std::vector<key_range>& ranges) const;
  /// Throws wrong_answer.
  void check(key_question question, const key_range& range, const arrow::Table& answer) const;

  /// Returns COUNT or SUM of a range.
  [[nodiscard]] std::int64_t aggregate(key_question question, const key_range& range) const;

 private:
  [[nodiscard]] std::int32_t value(std::uint64_t key) const;
  [[nodiscard]] std::int64_t wide(std::uint64_t key) const;
  [[nodiscard]] static double real(std::uint64_t key);
  [[nodiscard]] bool has_rows(const arrow::Table& answer, const key_range& range) const;

  pair_kind kind_;
  std::uint64_t rows_;
  std::uint64_t seed_;
};

}  // namespace espalier::bench
