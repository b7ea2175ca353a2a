#include "engine/keys/groups.hpp"

#include <arrow/chunked_array.h>

#include <algorithm>
#include <bit>
#include <optional>

#include "engine/error.hpp"
#include "engine/keys/hash_group.hpp"
#include "engine/keys/key_packer.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
// An open-addressing hash table from (previous group, key) to the new group. It is not in an unnamed namespace, since
// key_table::parts has a member of this type.
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

  /// Returns the number of the key, which is `next` if it is new.
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

code_table::key key_of(const sort_key_column& codes, std::size_t row, std::uint32_t group) {
  return {codes.words[row], codes.high.empty() ? 0 : codes.high[row], group, codes.is_null(row)};
}

row_groups refined_with(code_table& table, const row_groups& before, const sort_key_column& codes, bool skip_nulls) {
  row_groups out;
  out.of_row.resize(codes.words.size());
  for_each_row(codes.words.size(), [&](std::size_t row) {
    if (before.group(row) == no_group || (skip_nulls && codes.is_null(row))) {
      out.of_row[row] = no_group;
      return;
    }
    const auto next = static_cast<std::uint32_t>(out.first_row.size());
    const auto group = table.add(key_of(codes, row, before.group(row)), next);
    out.of_row[row] = group;
    if (group == next) out.first_row.push_back(static_cast<std::int64_t>(row));
  });
  return out;
}

// Returns groups as normalized keys; rows without a group are NULL.
sort_key_column as_codes(const row_groups& groups, std::size_t rows) {
  sort_key_column out;
  out.words.resize(rows);
  out.nulls.resize(rows, 0);
  for_each_row(rows, [&](std::size_t row) {
    const bool none = groups.group(row) == no_group;
    out.words[row] = none ? 0 : groups.group(row);
    out.nulls[row] = none ? 1 : 0;
  });
  return out;
}

// Returns whether the column's keys are dense: their range is at most twice the row count, so numbering the values
// would hardly save bits.
bool takes_few_bits(const sort_key_column& codes, std::size_t rows) {
  const auto packer = key_packer::plan({&codes}, rows, true);
  return packer && packer->codes() != 0 && packer->codes() <= 2 * rows;
}

}  // namespace

void check_row_numbers(std::size_t rows) {
  if (rows >= no_group)
    throw_sql_error(codes::program_limit_exceeded, -1, "Groups and joins take at most 4 billion rows.");
}

row_groups one_group(std::size_t rows) {
  row_groups out;
  if (rows > 0) out.first_row.push_back(0);
  return out;
}

row_groups refined(const row_groups& before, const sort_key_column& codes, bool skip_nulls) {
  const std::size_t rows = codes.words.size();
  check_row_numbers(rows);
  // A NULL key of `before` has no group, so either both columns skip NULLs or there is only one column.
  if (skip_nulls || before.of_row.empty()) {
    const auto groups = as_codes(before, before.of_row.size());
    std::vector<const sort_key_column*> columns{&codes};
    if (!before.of_row.empty()) columns.insert(columns.begin(), &groups);
    if (const auto packer = key_packer::plan(columns, rows, !skip_nulls)) {
      return hash_group(packer->pack(columns, rows), false).take();
    }
  }
  code_table table(before.count());
  return refined_with(table, before, codes, skip_nulls);
}

row_groups grouped(const std::vector<sort_key_column>& keys, std::size_t rows) {
  if (keys.empty()) return one_group(rows);
  check_row_numbers(rows);
  const auto columns = pointers_to(keys);
  if (const auto packer = key_packer::plan(columns, rows, true)) {
    return hash_group(packer->pack(columns, rows), false).take();
  }
  // Sparse keys are replaced by dense numbers of their values; two such columns always fit one word.
  std::vector<sort_key_column> numbered(keys.size());
  auto closer = columns;
  for (std::size_t i = 0; i < keys.size() && keys.size() > 1; ++i) {
    if (takes_few_bits(keys[i], rows)) continue;
    numbered[i] = as_codes(refined(one_group(rows), keys[i], true), rows);
    closer[i] = &numbered[i];
  }
  if (const auto packer = key_packer::plan(closer, rows, true)) {
    return hash_group(packer->pack(closer, rows), false).take();
  }
  auto out = one_group(rows);
  for (const auto* key : closer) out = refined(out, *key, false);
  return out;
}

// One table of words if the keys of `build` fit words, otherwise one table per column.
struct key_table::parts {
  std::vector<equality_coder> coders;
  std::optional<key_packer> packer;
  std::optional<hash_group> words;
  std::vector<code_table> tables;
  row_groups groups;
};

key_table::key_table(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& build)
    : parts_(std::make_unique<parts>()) {
  const auto rows = static_cast<std::size_t>(build.at(0)->length());
  check_row_numbers(rows);
  parts_->coders.resize(build.size());
  std::vector<sort_key_column> codes;
  for (std::size_t i = 0; i < build.size(); ++i) codes.push_back(parts_->coders[i].first(build[i]));
  const auto columns = pointers_to(codes);
  parts_->packer = key_packer::plan(columns, rows, false);
  if (parts_->packer) {
    parts_->words.emplace(parts_->packer->pack(columns, rows), true);
    return;
  }
  parts_->groups = one_group(rows);
  for (std::size_t i = 0; i < build.size(); ++i) {
    auto& table = parts_->tables.emplace_back(i == 0 ? rows / 2 : parts_->groups.count());
    parts_->groups = refined_with(table, parts_->groups, codes[i], true);
  }
}

key_table::~key_table() = default;

const row_groups& key_table::groups() const { return parts_->words ? parts_->words->groups() : parts_->groups; }

std::vector<std::uint32_t> key_table::find(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& probe) const {
  const auto rows = static_cast<std::size_t>(probe.at(0)->length());
  std::vector<sort_key_column> codes;
  for (std::size_t i = 0; i < probe.size(); ++i) codes.push_back(parts_->coders[i].second(probe[i]));
  if (parts_->packer) return parts_->words->find(parts_->packer->pack(pointers_to(codes), rows));
  std::vector<std::uint32_t> out(rows, 0);
  for (std::size_t i = 0; i < probe.size(); ++i) {
    for_each_row(rows, [&](std::size_t row) {
      if (out[row] == no_group) return;
      out[row] = codes[i].is_null(row) ? no_group : parts_->tables[i].find(key_of(codes[i], row, out[row]));
    });
  }
  return out;
}

grouped_rows rows_by_group(const row_groups& groups) {
  grouped_rows out;
  out.offsets.assign(groups.count() + 1, 0);
  const auto rows = groups.of_row.size();
  for_each_row(rows, [&](std::size_t row) {
    if (groups.of_row[row] != no_group) ++out.offsets[groups.of_row[row] + 1];
  });
  for (std::size_t g = 0; g < groups.count(); ++g) out.offsets[g + 1] += out.offsets[g];
  out.rows.resize(out.offsets.back());
  auto next = out.offsets;
  for_each_row(rows, [&](std::size_t row) {
    if (groups.of_row[row] != no_group) out.rows[next[groups.of_row[row]]++] = static_cast<std::int64_t>(row);
  });
  return out;
}

}  // namespace espalier::engine
