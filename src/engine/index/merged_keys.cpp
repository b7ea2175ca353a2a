#include "engine/index/merged_keys.hpp"

#include <arrow/table.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "engine/index/live_bits.hpp"
#include "engine/parallel_sort.hpp"
#include "engine/stop.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

namespace {

/// The rows that were added to a table, sorted by key; those without a key are last.
struct added_rows {
  encoded_keys keys;
  std::vector<std::uint64_t> rows;   // ascending; key i belongs to rows[i]
  std::vector<std::uint32_t> order;  // key order of the rows that have a key
  std::vector<std::uint64_t> null;
};

std::optional<added_rows> rows_added_since(const key_encoder& encoder, const table_version& table,
                                           std::uint64_t covered, std::span<const std::size_t> columns) {
  added_rows out;
  out.rows.reserve(table.rows() - covered);
  for_each_row(covered, table.rows(), [&](std::size_t row) {
    if (!table.is_deleted(row)) out.rows.push_back(row);
  });
  if (out.rows.size() > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  auto keys = encoder.encode(table.take(columns, out.rows)->columns());
  if (!keys) return std::nullopt;
  out.keys = std::move(*keys);
  for (std::size_t i = 0; i < out.rows.size(); ++i) {
    if (!encoder.is_composite() && out.keys.has_null(i)) {
      out.null.push_back(out.rows[i]);
    } else {
      out.order.push_back(static_cast<std::uint32_t>(i));
    }
  }
  const auto sort_by = [&](const auto& key_of) {
    parallel_sort(out.order.begin(), out.order.end(), static_cast<std::ptrdiff_t>(out.order.size()),
                  [&](std::uint32_t a, std::uint32_t b) {
                    const auto& of_a = key_of(a);
                    const auto& of_b = key_of(b);
                    return of_a != of_b ? of_a < of_b : a < b;
                  });
  };
  if (encoder.form() == key_form::bytes) {
    sort_by([&](std::uint32_t i) { return out.keys.bytes[i]; });
  } else {
    sort_by([&](std::uint32_t i) { return out.keys.words[i]; });
  }
  return out;
}

template <class Word>
std::span<const Word> saved_words(const number_array& words) {
  if constexpr (sizeof(Word) == 4) {
    return words.narrow();
  } else {
    return words.wide();
  }
}

// Rows of equal keys ascend, since added rows have higher ids than all others.
template <class Row>
class merger {
 public:
  merger(const ordered_keys& saved, const table_version& table, std::uint64_t covered, const added_rows& added)
      : saved_(saved), added_(added), now_(table), all_live_(table.live_rows_below(covered) == saved.rows.size()) {
    rows_.reserve(saved.rows.size() + added.rows.size());
  }

  ordered_keys merged() {
    ordered_keys out;
    switch (saved_.encoder->form()) {
      case key_form::word32:
        out.words = merged_words<std::uint32_t>();
        break;
      case key_form::word64:
        out.words = merged_words<std::uint64_t>();
        break;
      case key_form::bytes:
        merge_strings(out);
        break;
    }
    out.encoder = saved_.encoder;
    const std::size_t keyed = rows_.size();
    for_each_row(saved_.keyed_rows(), saved_.rows.size(), [&](std::size_t i) {
      if (is_live(saved_.rows[i])) rows_.push_back(static_cast<Row>(saved_.rows[i]));
    });
    for (const std::uint64_t row : added_.null) rows_.push_back(static_cast<Row>(row));
    out.null_rows = rows_.size() - keyed;
    out.rows = number_array(std::move(rows_));
    return out;
  }

 private:
  [[nodiscard]] bool is_live(std::uint64_t row) const { return all_live_ || now_.is_live(row); }
  [[nodiscard]] bool has_added() const { return next_ < added_.order.size(); }

  /// Long runs of saved rows lie between two added rows; they are found by galloping search and copied.
  template <class Word>
  number_array merged_words() {
    std::vector<Word> words;
    words.reserve(saved_.words.size() + added_.order.size());
    const auto there = saved_words<Word>(saved_.words);
    std::size_t from = 0;
    for (const std::uint32_t next : added_.order) {
      const auto word = static_cast<Word>(added_.keys.words[next]);
      const std::size_t to = behind(there, from, word);
      copy_run(there, from, to, words);
      words.push_back(word);
      rows_.push_back(static_cast<Row>(added_.rows[next]));
      from = to;
    }
    copy_run(there, from, there.size(), words);
    return number_array(std::move(words));
  }

  /// Returns the first position from `from` on whose word is greater.
  template <class Word>
  [[nodiscard]] static std::size_t behind(std::span<const Word> words, std::size_t from, Word word) {
    std::size_t step = 1;
    while (from + step <= words.size() && words[from + step - 1] <= word) {
      from += step;
      step *= 2;
    }
    const auto end = words.begin() + static_cast<std::ptrdiff_t>(std::min(from + step, words.size()));
    return static_cast<std::size_t>(std::upper_bound(words.begin() + static_cast<std::ptrdiff_t>(from), end, word) -
                                    words.begin());
  }

  template <class Word>
  void copy_run(std::span<const Word> words, std::size_t begin, std::size_t end, std::vector<Word>& out) {
    in_blocks(begin, end, [&](std::size_t from, std::size_t to) {
      const auto part = words.subspan(from, to - from);
      saved_.rows.visit([&](auto all_rows) {
        const auto rows = all_rows.subspan(from, to - from);
        if (all_live_) {
          out.insert(out.end(), part.begin(), part.end());
          rows_.insert(rows_.end(), rows.begin(), rows.end());
          return;
        }
        for (std::size_t i = 0; i < part.size(); ++i) {
          if (!now_.is_live(rows[i])) continue;
          out.push_back(part[i]);
          rows_.push_back(static_cast<Row>(rows[i]));
        }
      });
    });
  }

  void merge_strings(ordered_keys& out) {
    auto own = std::make_shared<range_batch::byte_ends>();
    std::vector<Row> starts;
    const auto add = [&](std::string_view key, std::uint64_t row) {
      if (starts.empty() || (*own)[starts.size() - 1] != key) {
        own->add(key);
        starts.push_back(static_cast<Row>(rows_.size()));
      }
      rows_.push_back(static_cast<Row>(row));
    };
    const auto key_added = [&] { return added_.keys.bytes[added_.order[next_]]; };
    const auto add_next = [&] {
      add(key_added(), added_.rows[added_.order[next_]]);
      ++next_;
    };
    for_each_row(saved_.strings.size(), [&](std::size_t i) {
      const std::string_view key = saved_.strings[i];
      while (has_added() && key_added() < key) add_next();
      const std::size_t end = saved_.starts.empty() ? i + 1 : saved_.starts[i + 1];
      for (std::size_t r = saved_.starts.empty() ? i : saved_.starts[i]; r < end; ++r) {
        if (is_live(saved_.rows[r])) add(key, saved_.rows[r]);
      }
    });
    while (has_added()) add_next();
    if (starts.size() != rows_.size()) {
      starts.push_back(static_cast<Row>(rows_.size()));
      out.starts = number_array(std::move(starts));
    }
    out.strings = {own->bytes, own->offsets, own};
  }

  const ordered_keys& saved_;
  const added_rows& added_;
  live_bits_view now_;
  bool all_live_;         // no row of saved_ was deleted
  std::size_t next_ = 0;  // index into added_.order
  std::vector<Row> rows_;
};

}  // namespace

std::optional<ordered_keys> merged_keys(const ordered_keys& saved, const table_version& table, std::uint64_t covered,
                                        std::span<const std::size_t> columns) {
  const auto added = rows_added_since(*saved.encoder, table, covered, columns);
  if (!added) return std::nullopt;
  // At most 2^32 - 2 rows, as in order_rows.
  if (table.rows() < std::numeric_limits<std::uint32_t>::max()) {
    return merger<std::uint32_t>(saved, table, covered, *added).merged();
  }
  return merger<std::uint64_t>(saved, table, covered, *added).merged();
}

}  // namespace espalier::engine
