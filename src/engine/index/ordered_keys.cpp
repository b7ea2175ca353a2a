#include "engine/index/ordered_keys.hpp"

#include <algorithm>
#include <limits>

#include "engine/index/table_index_impl.hpp"
#include "engine/parallel_sort.hpp"
#include "engine/stop.hpp"
#include "engine/table/table_version.hpp"
#include "espalier/device/cpu.hpp"

namespace espalier::engine {

namespace {

/// The rows that have a key, followed by those that have none.
template <class Row>
struct split_rows {
  std::vector<Row> keyed, null;
};

template <class Row>
split_rows<Row> split(const key_encoder& encoder, const encoded_keys& keys, const table_version& table) {
  split_rows<Row> out;
  const bool deleted = table.live_rows() != table.rows();
  out.keyed.reserve(table.live_rows());
  for_each_row(keys.size, [&](std::size_t row) {
    if (deleted && table.is_deleted(row)) return;
    const bool aside = !encoder.is_composite() && keys.has_null(row);
    (aside ? out.null : out.keyed).push_back(static_cast<Row>(row));
  });
  return out;
}

/// Sorts rows by their words; the sort is stable.
template <class Word, class Row>
std::vector<Word> sort_by_word(std::vector<Word> words, std::vector<Row>& rows, const device& host, unsigned from_bit,
                               unsigned to_bit) {
  if (std::is_sorted(words.begin(), words.end())) return words;
  std::vector<Word> words_alt(words.size());
  std::vector<Row> rows_alt(rows.size());
  const bool swapped = cpu_backend(host).sort_pairs(words.data(), words_alt.data(), rows.data(), rows_alt.data(),
                                                    sizeof(Row), rows.size(), from_bit, to_bit);
  if (!swapped) return words;
  rows.swap(rows_alt);
  return words_alt;
}

template <class Row>
number_array with_nulls(std::vector<Row> keyed, const std::vector<Row>& null) {
  keyed.insert(keyed.end(), null.begin(), null.end());
  return number_array(std::move(keyed));
}

template <class Word, class Row>
ordered_keys order_words(const encoded_keys& keys, split_rows<Row> rows, bool unique, const device& host) {
  std::vector<Word> words(rows.keyed.size());
  for_each_row(words.size(), [&](std::size_t i) { words[i] = static_cast<Word>(keys.words[rows.keyed[i]]); });
  words = sort_by_word(std::move(words), rows.keyed, host, 0, 8 * sizeof(Word));
  for (std::size_t i = 1; unique && i < words.size(); ++i) {
    if (words[i] == words[i - 1] && !keys.has_null(rows.keyed[i])) throw duplicate_key{rows.keyed[i]};
  }
  ordered_keys out;
  out.null_rows = rows.null.size();
  out.words = number_array(std::move(words));
  out.rows = with_nulls(std::move(rows.keyed), rows.null);
  return out;
}

/// Returns the first eight bytes as a word in the same order; shorter strings are padded with zeros.
std::uint64_t leading_word(std::string_view key) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) word = word << 8 | (i < key.size() ? static_cast<unsigned char>(key[i]) : 0u);
  return word;
}

/// Sorts by leading words first, then each run of equal ones by the rest.
template <class Row>
void sort_by_bytes(const encoded_keys& keys, std::vector<Row>& rows, const device& host) {
  std::vector<std::uint64_t> words(rows.size());
  for_each_row(rows.size(), [&](std::size_t i) { words[i] = leading_word(keys.bytes[rows[i]]); });
  words = sort_by_word(std::move(words), rows, host, 0, 64);
  const auto before = [&](Row a, Row b) {
    const int order = keys.bytes[a].compare(keys.bytes[b]);
    return order != 0 ? order < 0 : a < b;
  };
  std::size_t next_check = 0;
  for (std::size_t from = 0, to = 0; from < rows.size(); from = to) {
    if (from >= next_check) {
      check_cancelled();
      next_check = from + rows_between_checks;
    }
    while (to < rows.size() && words[to] == words[from]) ++to;
    if (to - from < 2) continue;
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(from);
    const auto last = rows.begin() + static_cast<std::ptrdiff_t>(to);
    parallel_sort(first, last, last - first, before);
  }
}

template <class Row>
ordered_keys order_bytes(const encoded_keys& keys, split_rows<Row> rows, bool unique, const device& host) {
  sort_by_bytes(keys, rows.keyed, host);
  auto own = std::make_shared<range_batch::byte_ends>();
  std::vector<Row> starts;
  for_each_row(rows.keyed.size(), [&](std::size_t i) {
    const std::string_view key = keys.bytes[rows.keyed[i]];
    if (i != 0 && key == keys.bytes[rows.keyed[i - 1]]) {
      if (unique && !keys.has_null(rows.keyed[i])) throw duplicate_key{rows.keyed[i]};
      return;
    }
    own->add(key);
    starts.push_back(static_cast<Row>(i));
  });
  ordered_keys out;
  if (starts.size() != rows.keyed.size()) {
    starts.push_back(static_cast<Row>(rows.keyed.size()));
    out.starts = number_array(std::move(starts));
  }
  out.strings = {own->bytes, own->offsets, own};
  out.null_rows = rows.null.size();
  out.rows = with_nulls(std::move(rows.keyed), rows.null);
  return out;
}

template <class Row>
ordered_keys order(const key_encoder& encoder, const encoded_keys& keys, const table_version& table, bool unique,
                   const device& host) {
  auto rows = split<Row>(encoder, keys, table);
  switch (encoder.form()) {
    case key_form::word32:
      return order_words<std::uint32_t>(keys, std::move(rows), unique, host);
    case key_form::word64:
      return order_words<std::uint64_t>(keys, std::move(rows), unique, host);
    case key_form::bytes:
      break;
  }
  return order_bytes(keys, std::move(rows), unique, host);
}

}  // namespace

ordered_keys order_rows(std::shared_ptr<const key_encoder> encoder, const encoded_keys& keys,
                        const table_version& table, bool unique, const device& host) {
  // At most 2^32 - 2 rows: the number after the last row has to fit as well.
  const bool narrow = table.rows() < std::numeric_limits<std::uint32_t>::max();
  ordered_keys out = narrow ? order<std::uint32_t>(*encoder, keys, table, unique, host)
                            : order<std::uint64_t>(*encoder, keys, table, unique, host);
  out.encoder = std::move(encoder);
  return out;
}

namespace {

// Returns the position of the first byte key that is not less than `end`.
std::size_t first_not_below(const byte_strings& strings, std::string_view end) {
  std::size_t from = 0, to = strings.size();
  while (from < to) {
    const std::size_t middle = from + (to - from) / 2;
    if (strings[middle] < end) {
      from = middle + 1;
    } else {
      to = middle;
    }
  }
  return from;
}

std::uint64_t word_count(const ordered_keys& keys, std::uint64_t lo, std::uint64_t hi) {
  if (lo > hi) return 0;
  const std::size_t n = keys.words.size();
  const auto from = keys.words.lower_bound(0, n, lo);
  const auto to = hi == ~std::uint64_t{0} ? n : keys.words.lower_bound(from, n, hi + 1);
  return to - from;
}

std::uint64_t byte_count(const ordered_keys& keys, const range_batch& ranges, std::size_t i) {
  const auto start = [&](std::size_t number) { return keys.starts.empty() ? number : keys.starts[number]; };
  const auto from = start(first_not_below(keys.strings, ranges.lo_bytes[i]));
  const bool open = ranges.mark_of(i) == range_batch::mark::from_lo;
  const auto to = open ? keys.keyed_rows() : start(first_not_below(keys.strings, ranges.hi_bytes[i]));
  return to > from ? to - from : 0;
}

}  // namespace

std::vector<std::uint64_t> counts_in(const ordered_keys& keys, const range_batch& ranges) {
  const bool words = keys.encoder->form() != key_form::bytes;
  std::vector<std::uint64_t> out(ranges.size(), 0);
  for (std::size_t i = 0; i < out.size(); ++i) {
    switch (ranges.mark_of(i)) {
      case range_batch::mark::ends:
        out[i] = words ? word_count(keys, ranges.lo_words[i], ranges.hi_words[i]) : byte_count(keys, ranges, i);
        break;
      case range_batch::mark::from_lo:
        out[i] = byte_count(keys, ranges, i);
        break;
      case range_batch::mark::empty:
        break;
      case range_batch::mark::null_rows:
        out[i] = keys.null_rows;
        break;
      case range_batch::mark::every_row:
        out[i] = keys.rows.size();
        break;
    }
  }
  return out;
}

}  // namespace espalier::engine
