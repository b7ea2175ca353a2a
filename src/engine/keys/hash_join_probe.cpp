#include "engine/keys/hash_join_probe.hpp"

#include <algorithm>
#include <mutex>
#include <span>
#include <utility>

#include "engine/expr/relation.hpp"
#include "engine/keys/radix_partition.hpp"
#include "engine/keys/word_hash_map.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

using row_list = row_matches::list;

constexpr std::size_t rows_of_a_join_part = std::size_t{1} << 14;  // a table of 512 KB

// Storage for lists of several rows, allocated when the first duplicate word is found. Each position is written by one
// thread.
class list_room {
 public:
  explicit list_room(std::size_t rows) : rows_(rows) {}
  [[nodiscard]] std::uint32_t* get() {
    std::call_once(made_, [this] { places_.resize(rows_); });
    return places_.data();
  }
  [[nodiscard]] std::vector<std::uint32_t> take() { return std::move(places_); }

 private:
  std::size_t rows_;
  std::once_flag made_;
  std::vector<std::uint32_t> places_;
};

// Assigns positions from `next` on to lists of several rows. While rows are added, `at` is the position of the next
// row.
void begin_lists(std::span<row_list> lists, std::uint32_t next) {
  for (auto& list : lists) {
    if (list.count <= 1) continue;
    list.at = next;
    next += list.count;
  }
}

void end_lists(std::span<row_list> lists) {
  for (auto& list : lists) {
    if (list.count > 1) list.at -= list.count;
  }
}

// The rows of each word of a partition.
class part_table {
 public:
  part_table() = default;
  part_table(const radix_partition& rows, std::size_t part, list_room& room) : words_(rows.words(part).size()) {
    const auto words = rows.words(part);
    const auto ids = rows.ids(part);
    std::vector<std::uint32_t> numbers(words.size());
    lists_.reserve(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
      numbers[i] = words_.add(words[i], word_hash_map::hash(words[i]));
      if (numbers[i] == lists_.size()) lists_.push_back({ids[i], 0});
      ++lists_[numbers[i]].count;
    }
    if (lists_.size() == words.size()) return;
    begin_lists(lists_, static_cast<std::uint32_t>(rows.begin(part)));
    std::uint32_t* const places = room.get();
    for (std::size_t i = 0; i < words.size(); ++i) {
      auto& list = lists_[numbers[i]];
      if (list.count > 1) places[list.at++] = ids[i];
    }
    end_lists(lists_);
  }

  [[nodiscard]] row_list find(std::uint64_t word, std::uint64_t hash) const {
    const auto number = words_.find(word, hash);
    return number == word_hash_map::missing ? row_list{} : lists_[number];
  }
  void prefetch(std::uint64_t hash) const { words_.prefetch(hash); }

 private:
  word_hash_map words_;
  std::vector<row_list> lists_;
};

bool close_together(const packed_keys& keys) {
  constexpr std::uint64_t widest_join_array = std::uint64_t{1} << 18;
  return keys.codes != 0 && keys.codes <= widest_join_array && keys.codes <= 4 * keys.rows() + 64;
}

// Builds lists by word: pieces of the rows are counted and then scattered, all pieces in parallel.
std::vector<row_list> lists_of_words(const packed_keys& keys, list_room& room) {
  const std::size_t pieces = std::clamp<std::size_t>(keys.rows() / (keys.codes + 1), 1, core_pieces(keys.rows()));
  std::vector<std::vector<std::uint32_t>> next(pieces, std::vector<std::uint32_t>(keys.codes, 0));
  const auto each_row = [&](std::size_t piece, const auto& body) {
    const auto [begin, end] = span_of(piece, pieces, keys.rows());
    for_each_row(begin, end, [&](std::size_t row) {
      if (keys.has(row)) body(next[piece][keys.word(row)], static_cast<std::uint32_t>(row));
    });
  };
  parallel_for(pieces,
               [&](std::size_t piece) { each_row(piece, [](std::uint32_t& count, std::uint32_t) { ++count; }); });
  std::vector<row_list> out(keys.codes);
  std::uint32_t total = 0;
  for (std::size_t word = 0; word < out.size(); ++word) {
    out[word].at = total;
    for (auto& of_piece : next) total += std::exchange(of_piece[word], total);
    out[word].count = total - out[word].at;
  }
  std::uint32_t* const places = room.get();
  parallel_for(pieces, [&](std::size_t piece) {
    each_row(piece, [&](std::uint32_t& place, std::uint32_t row) { places[place++] = row; });
  });
  for (auto& list : out) {
    if (list.count == 1) list.at = places[list.at];
  }
  return out;
}

void match_by_array(const packed_keys& build, const packed_keys& probe, list_room& room, row_list* out) {
  const auto lists = lists_of_words(build, room);
  for_each_batch(static_cast<std::int64_t>(probe.rows()), [&](std::size_t, std::int64_t begin, std::int64_t count) {
    for (auto row = static_cast<std::size_t>(begin); row < static_cast<std::size_t>(begin + count); ++row) {
      const std::uint64_t word = probe.word(row);
      if (word < lists.size() && probe.has(row)) out[row] = lists[word];
    }
  });
}

void match_by_parts(const packed_keys& build, const packed_keys& probe, list_room& room, row_list* out) {
  const std::size_t parts = parts_for(build.rows(), rows_of_a_join_part);
  const radix_partition built(build, parts), asked(probe, parts);
  parallel_for(parts, [&](std::size_t part) {
    const part_table table(built, part, room);
    const auto words = asked.words(part);
    const auto ids = asked.ids(part);
    for (std::size_t i = 0; i < words.size(); ++i) out[ids[i]] = table.find(words[i], word_hash_map::hash(words[i]));
  });
}

void match_by_tables(const packed_keys& build, const packed_keys& probe, list_room& room, row_list* out) {
  const std::size_t parts = parts_for(build.rows(), rows_of_a_join_part);
  const radix_partition built(build, parts);
  std::vector<part_table> tables(parts);
  parallel_for(parts, [&](std::size_t part) { tables[part] = part_table(built, part, room); });
  for_each_batch(static_cast<std::int64_t>(probe.rows()), [&](std::size_t, std::int64_t begin, std::int64_t count) {
    constexpr std::size_t block = 32;
    std::uint64_t hashes[block];
    const auto end = static_cast<std::size_t>(begin + count);
    for (auto start = static_cast<std::size_t>(begin); start < end; start += block) {
      const std::size_t stop = std::min(start + block, end);
      for (std::size_t row = start; row < stop; ++row) {
        const std::uint64_t hash = hashes[row - start] = word_hash_map::hash(probe.word(row));
        tables[part_of(hash, parts)].prefetch(hash);
      }
      for (std::size_t row = start; row < stop; ++row) {
        const std::uint64_t hash = hashes[row - start];
        if (probe.has(row)) out[row] = tables[part_of(hash, parts)].find(probe.word(row), hash);
      }
    }
  });
}

}  // namespace

row_matches matched_rows(const packed_keys& build, const packed_keys& probe) {
  row_matches out;
  out.of_row.resize(probe.rows());
  list_room room(build.rows());
  if (close_together(build)) {
    match_by_array(build, probe, room, out.of_row.data());
  } else if (build.rows() > rows_of_a_join_part && rarely_equal(probe)) {
    match_by_parts(build, probe, room, out.of_row.data());
  } else {
    match_by_tables(build, probe, room, out.of_row.data());
  }
  out.rows = room.take();
  return out;
}

}  // namespace espalier::engine
