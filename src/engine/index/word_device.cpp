#include "engine/index/word_device.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include <atomic>
#include <limits>
#include <type_traits>

#include "engine/index/summary_values.hpp"
#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

namespace {

template <class Word>
std::vector<Word> as_words(std::span<const std::uint64_t> words) {
  return {words.begin(), words.end()};
}

template <class Word, class Value>
class device_sums_of final : public device_sums<Word> {
  using tree = static_tree<Word, Value>;
  using sum = typename tree::sum_type;

 public:
  explicit device_sums_of(tree t) : tree_(std::move(t)) {}

  std::shared_ptr<arrow::Array> answer(std::span<const Word> lo, std::span<const Word> hi) const override {
    // The sums are written directly into the Arrow buffer: a sum has the bytes of its Arrow type, including decimals.
    const std::size_t n = lo.size();
    std::shared_ptr<arrow::Buffer> bytes_of_sums =
        value_of(arrow::AllocateBuffer(static_cast<std::int64_t>(n * sizeof(sum))), no_room);
    const std::span<sum> sums(reinterpret_cast<sum*>(bytes_of_sums->mutable_data()), n);
    tree_.sum(lo, hi, sums);
    const std::vector<std::size_t> empty = empty_ones(lo, hi, sums);
    return arrow::MakeArray(arrow::ArrayData::Make(type_of_sums(), static_cast<std::int64_t>(n),
                                                   {valid_but(empty, n), std::move(bytes_of_sums)},
                                                   static_cast<std::int64_t>(empty.size())));
  }
  std::size_t bytes() const override { return tree_.stats().bytes; }

 private:
  static constexpr const char* no_room = "aggregate: there is no room for the answers";

  /// Returns the empty ranges. A range whose sum is not zero need not be counted.
  [[nodiscard]] std::vector<std::size_t> empty_ones(std::span<const Word> lo, std::span<const Word> hi,
                                                    std::span<const sum> sums) const {
    std::vector<std::size_t> doubtful;
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] == sum{}) doubtful.push_back(i);
    }
    if (doubtful.empty()) return doubtful;
    std::vector<Word> from(doubtful.size()), to(doubtful.size());
    for (std::size_t k = 0; k < doubtful.size(); ++k) {
      from[k] = lo[doubtful[k]];
      to[k] = hi[doubtful[k]];
    }
    std::vector<std::uint64_t> counts(doubtful.size());
    tree_.count(from, to, counts);
    std::size_t k = 0;
    std::erase_if(doubtful, [&](std::size_t) { return counts[k++] != 0; });
    return doubtful;
  }
  static std::shared_ptr<arrow::DataType> type_of_sums() {
    if constexpr (sizeof(sum) == 16) {
      return arrow::decimal128(38, 0);
    } else {
      return arrow::int64();
    }
  }
  /// Returns a validity bitmap of n results, or null if all are valid.
  static std::shared_ptr<arrow::Buffer> valid_but(const std::vector<std::size_t>& empty, std::size_t n) {
    if (empty.empty()) return nullptr;
    std::shared_ptr<arrow::Buffer> bits = value_of(arrow::AllocateEmptyBitmap(static_cast<std::int64_t>(n)), no_room);
    arrow::bit_util::SetBitsTo(bits->mutable_data(), 0, static_cast<std::int64_t>(n), true);
    for (const std::size_t i : empty) arrow::bit_util::ClearBit(bits->mutable_data(), static_cast<std::int64_t>(i));
    return bits;
  }

  tree tree_;
};

/// Appends a column's values, converted. Returns false if one is NULL.
template <class From, class To>
bool append_converted(const arrow::Array& from, std::vector<To>& to) {
  if (from.null_count() != 0) return false;
  const From* const values = from.data()->GetValues<From>(1);
  to.insert(to.end(), values, values + from.length());
  return true;
}

template <class To>
bool append_numbers(const arrow::Array& from, type_id id, std::vector<To>& to) {
  if constexpr (sizeof(To) == 8) {
    return append_converted<std::int64_t>(from, to);
  } else {
    if (id == type_id::int8) return append_converted<std::int8_t>(from, to);
    if (id == type_id::int16) return append_converted<std::int16_t>(from, to);
    return append_converted<std::int32_t>(from, to);
  }
}

}  // namespace

template <class Word>
word_device<Word>::word_device(std::span<const Word> keys, const number_array& rows, const device& where)
    : rows_(rows) {
  if (rows.is_wide()) {
    wide_ = row_tree<std::uint64_t>::build(keys, rows.wide().first(keys.size()), {.sorted = true}, where);
  } else {
    narrow_ = row_tree<std::uint32_t>::build(keys, rows.narrow().first(keys.size()), {.sorted = true}, where);
  }
}

template <class Word>
void word_device<Word>::rank(std::span<const Word> of, std::span<std::uint64_t> ranks, bound_type bound) const {
  wide_ ? wide_->rank(of, ranks, bound) : narrow_->rank(of, ranks, bound);
}

template <class Word>
std::optional<std::vector<std::uint64_t>> word_device<Word>::edge(words lo, words hi, bool last) const {
  std::vector<Word> next_to(lo.size());
  std::atomic<bool> has_end = false;
  parallel_pieces(lo.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      if (last ? hi[i] == std::numeric_limits<Word>::max() : lo[i] == 0) has_end.store(true, std::memory_order_relaxed);
      next_to[i] = static_cast<Word>(last ? hi[i] + 1 : lo[i] - 1);
    }
  });
  if (has_end) return std::nullopt;
  return wide_ ? edge_in(*wide_, std::move(next_to), lo, hi, last)
               : edge_in(*narrow_, std::move(next_to), lo, hi, last);
}

template <class Word>
template <class Row>
std::vector<std::uint64_t> word_device<Word>::edge_in(const row_tree<Row>& tree, std::vector<Word> next_to, words lo,
                                                      words hi, bool last) const {
  const std::size_t n = next_to.size();
  std::vector<Word> keys(n);
  std::vector<Row> rows(n);
  std::vector<std::uint8_t> found(n);
  if (last) {
    tree.predecessor(next_to, keys, rows, found);
  } else {
    tree.successor(next_to, keys, rows, found);
  }
  std::vector<std::uint64_t> out(n);
  parallel_pieces(n, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      out[i] = found[i] != 0 && keys[i] >= lo[i] && keys[i] <= hi[i] ? rows[i] : no_row;
    }
  });
  return out;
}

template <class Word>
template <class Value>
std::unique_ptr<device_sums<Word>> word_device<Word>::make_sums(const summary_source& column) const {
  const std::size_t n = wide_ ? wide_->size() : narrow_->size();
  std::vector<Value> values;
  values.reserve(n);
  std::vector<std::uint64_t> piece;
  for (std::size_t from = 0; from < n; from += std::size_t{1} << 20) {
    const std::size_t to = std::min(n, from + (std::size_t{1} << 20));
    piece.resize(to - from);
    rows_.copy(from, to, piece.data());
    const auto data = column.at(piece);
    for (const auto& chunk : data->chunks()) {
      if (!append_numbers(*chunk, column.type().id, values)) return nullptr;
    }
  }
  const Word lo[] = {0};
  const Word hi[] = {std::numeric_limits<Word>::max()};
  const auto build = [&](const auto& tree) {
    const auto all = tree.range(lo, hi);  // remains on the device
    return static_tree<Word, Value>::build(all.keys.span(), values, {.sorted = true, .keep = aggregates::sum},
                                           tree.get_device());
  };
  return std::make_unique<device_sums_of<Word, Value>>(wide_ ? build(*wide_) : build(*narrow_));
}

template <class Word>
std::unique_ptr<device_sums<Word>> word_device<Word>::sums_of(const summary_source& column) const {
  switch (column.type().id) {
    case type_id::int8:
    case type_id::int16:
    case type_id::int32:
      return make_sums<std::int32_t>(column);
    case type_id::int64:
      return make_sums<std::int64_t>(column);
    default:
      return nullptr;
  }
}

template <class Word>
const device_sums<Word>* word_device<Word>::sums_for(const summary_source& column) const {
  const std::scoped_lock lock(mutex_);
  auto at = sums_.find(column.column);
  if (at == sums_.end()) at = sums_.emplace(column.column, sums_of(column)).first;
  return at->second.get();
}

template <class Word>
std::shared_ptr<arrow::Array> word_device<Word>::sum(const summary_source& column, words lo, words hi) const {
  const device_sums<Word>* const sums = sums_for(column);
  if (sums == nullptr) return nullptr;
  if constexpr (sizeof(Word) == 8) {
    return sums->answer(lo, hi);
  } else {
    return sums->answer(as_words<Word>(lo), as_words<Word>(hi));
  }
}

template <class Word>
std::size_t word_device<Word>::bytes() const {
  std::size_t total = wide_ ? wide_->stats().bytes : narrow_->stats().bytes;
  const std::scoped_lock lock(mutex_);
  for (const auto& [column, sums] : sums_) total += sums ? sums->bytes() : 0;
  return total;
}

template <class Word>
std::string word_device<Word>::validate() const {
  return (wide_ ? wide_->validate() : narrow_->validate()).problem;
}

template class word_device<std::uint32_t>;
template class word_device<std::uint64_t>;

}  // namespace espalier::engine
