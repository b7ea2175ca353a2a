#include "engine/index/static_rank_base.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace espalier::engine {

namespace {

template <class Word>
std::span<const Word> words_of(const number_array& words) {
  if constexpr (sizeof(Word) == 4) {
    return words.narrow();
  } else {
    return words.wide();
  }
}

/// Converts to the word type of the tree.
template <class Word>
std::span<const Word> narrowed(std::span<const std::uint64_t> words, std::vector<Word>& own) {
  if constexpr (sizeof(Word) == 8) {
    return words;
  } else {
    own.assign(words.begin(), words.end());
    return own;
  }
}

}  // namespace

template <class Word>
static_rank_base<Word>::static_rank_base(ordered_keys keys, const device& where)
    : encoder_(std::move(keys.encoder)),
      rows_(std::move(keys.rows)),
      null_rows_(keys.null_rows),
      host_(host_of(where)),
      tree_(static_tree<Word>::build(words_of<Word>(keys.words), {.sorted = true}, host_)) {
  if (where.kind() == device_kind::cuda)
    on_device_ = std::make_unique<word_device<Word>>(words_of<Word>(keys.words), rows_, where);
}

template <class Word>
std::vector<rank_pair> static_rank_base<Word>::search(std::span<const std::uint64_t> lo,
                                                      std::span<const std::uint64_t> hi) const {
  const std::size_t n = lo.size();
  std::vector<rank_pair> out(n, {0, keyed_rows()});
  std::vector<Word> own;
  std::vector<std::uint64_t> ranks(n);
  const bool on_device = is_for_device(n);
  const auto all = [](std::span<const std::uint64_t> words, std::uint64_t word) {
    return std::all_of(words.begin(), words.end(), [word](std::uint64_t w) { return w == word; });
  };
  if (!all(lo, 0)) {  // as-of queries without groups have no lower bounds
    const auto words = narrowed(lo, own);
    on_device ? on_device_->rank(words, ranks, bound_type::lower) : tree_.rank(words, ranks);
    for (std::size_t i = 0; i < n; ++i) out[i].from = ranks[i];
  }
  if (!all(hi, std::numeric_limits<Word>::max())) {
    const auto words = narrowed(hi, own);
    on_device ? on_device_->rank(words, ranks, bound_type::upper) : tree_.rank(words, ranks, bound_type::upper);
    for (std::size_t i = 0; i < n; ++i) out[i].to = ranks[i];
  }
  for (std::size_t i = 0; i < n; ++i) {
    if (lo[i] > hi[i]) out[i].to = out[i].from;
  }
  return out;
}

template <class Word>
std::vector<rank_pair> static_rank_base<Word>::bounds(const range_batch& ranges) const {
  return search(ranges.lo_words, ranges.hi_words);
}

template <class Word>
std::vector<rank_pair> static_rank_base<Word>::equal_ranges(const encoded_keys& keys) const {
  return search(keys.words, keys.words);
}

template <class Word>
void static_rank_base<Word>::read_keys(const range_batch&, std::size_t, rank_pair ranks, key_order order,
                                       encoded_keys& out) const {
  std::vector<std::uint64_t> at(ranks.to - ranks.from);
  std::iota(at.begin(), at.end(), ranks.from);
  if (order == key_order::descending) std::reverse(at.begin(), at.end());
  std::vector<Word> words(at.size());
  tree_.select(at, words, {}, {});
  out.words.insert(out.words.end(), words.begin(), words.end());
  out.size += words.size();
}

template <class Word>
std::optional<std::vector<std::uint64_t>> static_rank_base<Word>::edge_on_device(const range_batch& ranges,
                                                                                 bool last) const {
  if (!is_for_device(ranges.size()) || !ranges.marks.empty()) return std::nullopt;
  return on_device_->edge(ranges.lo_words, ranges.hi_words, last);
}

template <class Word>
std::shared_ptr<arrow::Array> static_rank_base<Word>::sum_on_device(const summary_source& column,
                                                                    const range_batch& ranges) const {
  if (!is_for_device(ranges.size()) || !ranges.marks.empty()) return nullptr;
  return on_device_->sum(column, ranges.lo_words, ranges.hi_words);
}

template <class Word>
ordered_keys static_rank_base<Word>::content() const {
  ordered_keys out;
  out.encoder = encoder_;
  out.rows = rows_;
  out.null_rows = null_rows_;
  const Word lo[] = {0};
  const Word hi[] = {std::numeric_limits<Word>::max()};
  out.words = number_array(tree_.range(lo, hi).keys.to_vector());
  return out;
}

template <class Word>
std::size_t static_rank_base<Word>::bytes() const {
  return tree_.stats().bytes + rows_.bytes() + (on_device_ ? on_device_->bytes() : 0);
}

template <class Word>
std::string static_rank_base<Word>::validate() const {
  if (const validation v = tree_.validate(); !v) return v.problem;
  if (on_device_) return on_device_->validate();
  return {};
}

template class static_rank_base<std::uint32_t>;
template class static_rank_base<std::uint64_t>;

}  // namespace espalier::engine
