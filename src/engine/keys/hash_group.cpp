#include "engine/keys/hash_group.hpp"

#include <algorithm>
#include <bit>

#include "engine/expr/relation.hpp"
#include "engine/keys/radix_partition.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

constexpr std::uint64_t widest_searched_array = std::uint64_t{1} << 16;
constexpr std::uint64_t widest_array = std::uint64_t{1} << 22;
constexpr std::size_t rows_of_a_part = std::size_t{1} << 15;  // a table of 1 MB

// A bitmap of the rows that start a group. rank() returns the number of such rows before a row.
class first_rows {
 public:
  explicit first_rows(std::size_t rows) : bits_(rows / 64 + 1, 0), before_(bits_.size() + 1, 0) {}

  void add(std::uint64_t row) { bits_[row / 64] |= std::uint64_t{1} << (row % 64); }
  void count() {
    for (std::size_t i = 0; i < bits_.size(); ++i) {
      before_[i + 1] = before_[i] + static_cast<std::uint32_t>(std::popcount(bits_[i]));
    }
  }
  [[nodiscard]] std::uint32_t rank(std::uint64_t row) const {
    const std::uint64_t below = bits_[row / 64] & ((std::uint64_t{1} << (row % 64)) - 1);
    return before_[row / 64] + static_cast<std::uint32_t>(std::popcount(below));
  }
  [[nodiscard]] std::size_t total() const { return before_.back(); }

 private:
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> before_;
};

}  // namespace

// A contiguous range of the rows with its distinct words.
struct hash_group::piece {
  word_hash_map table;
  std::vector<std::uint64_t> words;                 // distinct words, by local number
  std::vector<std::uint32_t> first;                 // first row of each word
  std::vector<std::uint32_t> group;                 // global group of each word
  std::vector<std::vector<std::uint32_t>> by_part;  // local numbers, by hash partition
};

hash_group::hash_group(const packed_keys& keys, bool searched) {
  if ((!searched && group_in_order(keys)) || group_by_array(keys, searched)) return;
  groups_.of_row.resize(keys.rows(), no_group);
  if (rarely_equal(keys)) {
    group_by_parts(keys);
  } else {
    group_by_hash(keys);
  }
  if (searched) make_filter(keys);
}

bool hash_group::group_in_order(const packed_keys& keys) {
  const auto& words = keys.words;
  if (std::any_of(keys.without.begin(), keys.without.end(), [](std::uint8_t gone) { return gone != 0; })) return false;
  if (words.size() < 64 || !std::is_sorted(words.begin(), words.end())) return false;
  groups_.of_row.resize(words.size());
  for_each_row(words.size(), [&](std::size_t row) {
    if (row == 0 || words[row] != words[row - 1]) groups_.first_row.push_back(static_cast<std::int64_t>(row));
    groups_.of_row[row] = static_cast<std::uint32_t>(groups_.first_row.size() - 1);
  });
  return true;
}

bool hash_group::group_by_array(const packed_keys& keys, bool searched) {
  const std::size_t rows = keys.rows();
  // For searches, a direct array pays off even if it is sparse, as long as it fits a core's cache.
  const std::uint64_t widest = std::max<std::uint64_t>(4 * rows + 64, searched ? widest_searched_array : 0);
  if (keys.codes == 0 || keys.codes > widest_array || keys.codes > widest) return false;
  const std::size_t pieces = std::max<std::size_t>(1, std::min(core_pieces(rows), rows / keys.codes));
  std::vector<std::vector<std::uint32_t>> first(pieces);
  parallel_for(pieces, [&](std::size_t i) {
    first[i].assign(keys.codes, no_group);
    const auto [begin, end] = span_of(i, pieces, rows);
    for_each_row(begin, end, [&](std::size_t row) {
      auto& known = first[i][keys.word(row)];
      if (known == no_group && keys.has(row)) known = static_cast<std::uint32_t>(row);
    });
  });
  for (std::size_t i = 1; i < pieces; ++i) {
    for (std::size_t code = 0; code < keys.codes; ++code) first[0][code] = std::min(first[0][code], first[i][code]);
  }
  for (const auto row : first[0]) {
    if (row != no_group) groups_.first_row.push_back(row);
  }
  std::sort(groups_.first_row.begin(), groups_.first_row.end());
  by_word_.assign(keys.codes, no_group);
  for (std::size_t g = 0; g < groups_.first_row.size(); ++g) {
    by_word_[keys.word(static_cast<std::size_t>(groups_.first_row[g]))] = static_cast<std::uint32_t>(g);
  }
  groups_.of_row = find(keys);
  return true;
}

void hash_group::group_by_hash(const packed_keys& keys) {
  const std::size_t rows = keys.rows();
  const std::size_t count = core_pieces(rows);
  const std::size_t parts = std::bit_ceil(count);
  std::vector<piece> pieces(count);
  constexpr std::size_t block = 32;
  parallel_for(count, [&](std::size_t p) {
    auto& mine = pieces[p];
    mine.by_part.resize(parts);
    const auto [begin, end] = span_of(p, count, rows);
    std::uint64_t hashes[block];
    std::size_t next_check = begin;
    for (std::size_t start = begin; start < end; start += block) {
      if (start >= next_check) {
        check_cancelled();
        next_check = start + rows_between_checks;
      }
      const std::size_t stop = std::min(start + block, end);
      for (std::size_t row = start; row < stop; ++row) {
        hashes[row - start] = word_hash_map::hash(keys.word(row));
        mine.table.prefetch(hashes[row - start]);
      }
      for (std::size_t row = start; row < stop; ++row) {
        if (!keys.has(row)) continue;
        const std::uint64_t h = hashes[row - start];
        const auto number = mine.table.add(keys.word(row), h);
        groups_.of_row[row] = number;
        if (number != mine.words.size()) continue;
        mine.words.push_back(keys.word(row));
        mine.first.push_back(static_cast<std::uint32_t>(row));
        mine.by_part[part_of(h, parts)].push_back(number);
      }
    }
    mine.group.resize(mine.words.size());
  });
  merge(pieces);
  parallel_for(count, [&](std::size_t p) {
    const auto [begin, end] = span_of(p, count, rows);
    for_each_row(begin, end, [&](std::size_t row) {
      if (groups_.of_row[row] != no_group) groups_.of_row[row] = pieces[p].group[groups_.of_row[row]];
    });
  });
}

// Each hash partition has one table. Pieces are merged in order, so the first piece with a word supplies its first row.
void hash_group::merge(std::vector<piece>& pieces) {
  const std::size_t parts = pieces[0].by_part.size();
  parts_.resize(parts);
  std::vector<std::vector<std::uint32_t>> first(parts);
  parallel_for(parts, [&](std::size_t part) {
    for (auto& p : pieces) {
      for_each_row(p.by_part[part].size(), [&](std::size_t i) {
        const auto number = p.by_part[part][i];
        const std::uint64_t word = p.words[number];
        const auto known = parts_[part].add(word, word_hash_map::hash(word));
        if (known == first[part].size()) first[part].push_back(p.first[number]);
        p.group[number] = known;
      });
    }
  });
  number_groups(first);
  parallel_for(parts, [&](std::size_t part) {
    for (auto& p : pieces) {
      for (const auto number : p.by_part[part]) p.group[number] = group_of_[part][p.group[number]];
    }
  });
}

// Assigns global numbers to the groups of each partition, given by their first rows.
void hash_group::number_groups(const std::vector<std::vector<std::uint32_t>>& first) {
  first_rows ranks(groups_.of_row.size());
  for (const auto& rows : first) {
    for (const auto row : rows) ranks.add(row);
  }
  ranks.count();
  groups_.first_row.resize(ranks.total());
  group_of_.resize(first.size());
  parallel_for(first.size(), [&](std::size_t part) {
    for (const auto row : first[part]) {
      group_of_[part].push_back(ranks.rank(row));
      groups_.first_row[group_of_[part].back()] = row;
    }
  });
}

void hash_group::group_by_parts(const packed_keys& keys) {
  const radix_partition rows(keys, parts_for(keys.rows(), rows_of_a_part));
  parts_.resize(rows.parts());
  std::vector<std::vector<std::uint32_t>> first(rows.parts());
  parallel_for(rows.parts(), [&](std::size_t part) {
    const auto words = rows.words(part);
    const auto ids = rows.ids(part);
    word_hash_map table(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto number = table.add(words[i], word_hash_map::hash(words[i]));
      if (number == first[part].size()) first[part].push_back(ids[i]);
      groups_.of_row[ids[i]] = number;
    }
    parts_[part] = std::move(table);
  });
  number_groups(first);
  parallel_for(rows.parts(), [&](std::size_t part) {
    for (const auto row : rows.ids(part)) groups_.of_row[row] = group_of_[part][groups_.of_row[row]];
  });
}

void hash_group::find_piece(const packed_keys& keys, std::size_t begin, std::size_t end, std::uint32_t* out) const {
  const std::uint8_t* const without = keys.without.empty() ? nullptr : keys.without.data();
  const auto has = [&](std::size_t row) { return without == nullptr || without[row] == 0; };
  if (!by_word_.empty()) {
    for (std::size_t row = begin; row < end; ++row) {
      const std::uint64_t word = keys.word(row);
      out[row] = has(row) && word < by_word_.size() ? by_word_[word] : no_group;
    }
    return;
  }
  // Most words may be missing. The filter rejects these without an unpredictable branch.
  constexpr std::size_t block = 128;
  std::uint64_t hashes[block];
  std::uint32_t passing[block];
  for (std::size_t start = begin; start < end; start += block) {
    const std::size_t stop = std::min(start + block, end);
    std::size_t count = 0;
    for (std::size_t row = start; row < stop; ++row) {
      const std::uint64_t h = word_hash_map::hash(keys.word(row));
      hashes[count] = h;
      passing[count] = static_cast<std::uint32_t>(row);
      count += static_cast<std::size_t>(has(row)) & (filter_[h >> filter_shift_ >> 6] >> (h >> filter_shift_ & 63) & 1);
    }
    for (std::size_t i = 0; i < count; ++i) parts_[part_of(hashes[i], parts_.size())].prefetch(hashes[i]);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t part = part_of(hashes[i], parts_.size());
      const auto number = parts_[part].find(keys.word(passing[i]), hashes[i]);
      if (number != word_hash_map::missing) out[passing[i]] = group_of_[part][number];
    }
  }
}

// Builds a filter of about sixteen bits per word, in which the hash of each word sets one bit.
void hash_group::make_filter(const packed_keys& keys) {
  const std::size_t bits = std::bit_ceil(std::max<std::size_t>(groups_.count() * 16, 1024));
  filter_.assign(bits / 64, 0);
  filter_shift_ = 64 - static_cast<unsigned>(std::countr_zero(bits));
  for_each_row(groups_.count(), [&](std::size_t group) {
    const std::uint64_t h = word_hash_map::hash(keys.word(static_cast<std::size_t>(groups_.first_row[group])));
    filter_[h >> filter_shift_ >> 6] |= std::uint64_t{1} << (h >> filter_shift_ & 63);
  });
}

std::vector<std::uint32_t> hash_group::find(const packed_keys& keys) const {
  std::vector<std::uint32_t> out(keys.rows(), no_group);
  for_each_batch(static_cast<std::int64_t>(out.size()), [&](std::size_t, std::int64_t begin, std::int64_t count) {
    find_piece(keys, static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + count), out.data());
  });
  return out;
}

}  // namespace espalier::engine
