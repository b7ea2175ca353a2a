#include "engine/exec/groups.hpp"

#include <arrow/chunked_array.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "engine/sql/error.hpp"

namespace espalier::engine {
// Not in an unnamed namespace: key_table::parts has it as a member.
// An open-addressing table from (group so far, code) to the new group.
class code_table {
 public:
  struct key {
    std::uint64_t word = 0;
    std::uint64_t high = 0;
    std::uint32_t group = 0;
    bool is_null = false;
    bool operator==(const key&) const = default;
  };

  explicit code_table(std::size_t expected) {
    slots_.resize(std::bit_ceil(std::max<std::size_t>(expected, 16) * 2), empty);
  }

  /// The number of the key, which is `next` if it is new.
  std::uint32_t add(const key& k, std::uint32_t next) {
    if (keys_.size() * 2 >= slots_.size()) grow();
    for (std::size_t i = hash(k) & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i] == empty) {
        slots_[i] = static_cast<std::uint32_t>(keys_.size());
        keys_.push_back(k);
        return next;
      }
      if (keys_[slots_[i]] == k) return slots_[i];
    }
  }

  [[nodiscard]] std::uint32_t find(const key& k) const {
    for (std::size_t i = hash(k) & (slots_.size() - 1);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i] == empty) return no_group;
      if (keys_[slots_[i]] == k) return slots_[i];
    }
  }

 private:
  static constexpr std::uint32_t empty = no_group;

  static std::size_t hash(const key& k) {
    std::uint64_t h = k.word * 0x9E3779B97F4A7C15ULL;
    h ^= (k.high + 0x9E3779B97F4A7C15ULL + (std::uint64_t{k.group} << 17) + (k.is_null ? 0x5851F42D4C957F2DULL : 0)) *
         0xC2B2AE3D27D4EB4FULL;
    h ^= h >> 29;
    h *= 0xBF58476D1CE4E5B9ULL;
    return static_cast<std::size_t>(h ^ (h >> 32));
  }

  void grow() {
    slots_.assign(slots_.size() * 2, empty);
    for (std::uint32_t number = 0; number < keys_.size(); ++number) {
      std::size_t i = hash(keys_[number]) & (slots_.size() - 1);
      while (slots_[i] != empty) i = (i + 1) & (slots_.size() - 1);
      slots_[i] = number;
    }
  }

  std::vector<std::uint32_t> slots_;
  std::vector<key> keys_;
};

namespace {

code_table::key key_of(const code_column& codes, std::size_t row, std::uint32_t group) {
  return {codes.words[row], codes.high.empty() ? 0 : codes.high[row], group, codes.is_null(row)};
}

row_groups refined_with(code_table& table, const row_groups& before, const code_column& codes, bool skip_nulls) {
  row_groups out;
  out.of_row.resize(before.of_row.size());
  for (std::size_t row = 0; row < before.of_row.size(); ++row) {
    if (before.of_row[row] == no_group || (skip_nulls && codes.is_null(row))) {
      out.of_row[row] = no_group;
      continue;
    }
    const auto next = static_cast<std::uint32_t>(out.first_row.size());
    const auto group = table.add(key_of(codes, row, before.of_row[row]), next);
    out.of_row[row] = group;
    if (group == next) out.first_row.push_back(static_cast<std::int64_t>(row));
  }
  return out;
}

// Codes that lie close together number a table directly, without hashing.
std::optional<row_groups> refined_directly(const row_groups& before, const code_column& codes, bool skip_nulls) {
  if (before.count() != 1 || !codes.high.empty() || codes.words.empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(codes.words.begin(), codes.words.end());
  const std::uint64_t first = *least;
  const std::uint64_t span = *most - first;
  constexpr std::uint64_t widest = 1 << 20;
  if (span >= widest || span > 4 * codes.words.size()) return std::nullopt;
  std::vector<std::uint32_t> numbers(span + 2, no_group);  // the last one is NULL's
  row_groups out;
  out.of_row.resize(before.of_row.size(), no_group);
  for (std::size_t row = 0; row < before.of_row.size(); ++row) {
    const bool null = codes.is_null(row);
    if (before.of_row[row] == no_group || (skip_nulls && null)) continue;
    auto& number = numbers[null ? span + 1 : codes.words[row] - first];
    if (number == no_group) {
      number = static_cast<std::uint32_t>(out.first_row.size());
      out.first_row.push_back(static_cast<std::int64_t>(row));
    }
    out.of_row[row] = number;
  }
  return out;
}

}  // namespace

row_groups one_group(std::size_t rows) {
  row_groups out;
  out.of_row.assign(rows, 0);
  if (rows > 0) out.first_row.push_back(0);
  return out;
}

row_groups refined(const row_groups& before, const code_column& codes, bool skip_nulls) {
  if (before.of_row.size() >= no_group) refuse(-1, "Groups and joins take at most 4 billion rows.");
  if (auto direct = refined_directly(before, codes, skip_nulls)) return std::move(*direct);
  code_table table(before.count());
  return refined_with(table, before, codes, skip_nulls);
}

row_groups grouped(const std::vector<code_column>& keys, std::size_t rows) {
  auto out = one_group(rows);
  for (const auto& key : keys) out = refined(out, key, false);
  return out;
}

struct key_table::parts {
  std::vector<equality_coder> coders;
  std::vector<code_table> tables;
  row_groups groups;
};

key_table::key_table(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& build)
    : parts_(std::make_unique<parts>()) {
  const auto rows = static_cast<std::size_t>(build.at(0)->length());
  if (rows >= no_group) refuse(-1, "Groups and joins take at most 4 billion rows.");
  parts_->coders.resize(build.size());
  parts_->groups = one_group(rows);
  for (std::size_t i = 0; i < build.size(); ++i) {
    const auto codes = parts_->coders[i].first(build[i]);
    auto& table = parts_->tables.emplace_back(i == 0 ? rows / 2 : parts_->groups.count());
    parts_->groups = refined_with(table, parts_->groups, codes, true);
  }
}

key_table::~key_table() = default;

const row_groups& key_table::groups() const { return parts_->groups; }

std::vector<std::uint32_t> key_table::find(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& probe) const {
  std::vector<std::uint32_t> out(static_cast<std::size_t>(probe.at(0)->length()), 0);
  for (std::size_t i = 0; i < probe.size(); ++i) {
    const auto codes = parts_->coders[i].second(probe[i]);
    for (std::size_t row = 0; row < out.size(); ++row) {
      if (out[row] == no_group) continue;
      out[row] = codes.is_null(row) ? no_group : parts_->tables[i].find(key_of(codes, row, out[row]));
    }
  }
  return out;
}

grouped_rows rows_by_group(const row_groups& groups) {
  grouped_rows out;
  out.offsets.assign(groups.count() + 1, 0);
  for (const auto group : groups.of_row) {
    if (group != no_group) ++out.offsets[group + 1];
  }
  for (std::size_t g = 0; g < groups.count(); ++g) out.offsets[g + 1] += out.offsets[g];
  out.rows.resize(out.offsets.back());
  auto next = out.offsets;
  for (std::size_t row = 0; row < groups.of_row.size(); ++row) {
    if (groups.of_row[row] != no_group) out.rows[next[groups.of_row[row]]++] = static_cast<std::int64_t>(row);
  }
  return out;
}

}  // namespace espalier::engine
