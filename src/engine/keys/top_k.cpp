// top_k.cpp - batches of rows are processed in parallel, each with a heap of its first words. The last word of a full
// heap is a bound for all batches, so that nearly all blocks of rows are skipped after one comparison per row.
#include "engine/keys/top_k.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <array>
#include <atomic>

#include "engine/expr/relation.hpp"
#include "engine/keys/normalized_keys.hpp"

namespace espalier::engine {
namespace {

constexpr std::uint64_t no_bound = ~std::uint64_t{0};

/// Rows with greater words are not in the result, in any batch. The bound only decreases.
class shared_bound {
 public:
  [[nodiscard]] std::uint64_t get() const { return word_.load(std::memory_order_relaxed); }
  void lower(std::uint64_t word) {
    std::uint64_t seen = get();
    while (word < seen && !word_.compare_exchange_weak(seen, word, std::memory_order_relaxed)) {
    }
  }

 private:
  std::atomic<std::uint64_t> word_{no_bound};
};

struct candidate {
  std::uint64_t word;
  std::int64_t row;
};

// Returns whether one of these values may be within the bound. NaN always may, since no comparison excludes it.
template <class Array>
bool any_within(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t bound,
                bool descending) {
  using value = typename Array::value_type;
  const auto* values = static_cast<const Array&>(chunk).raw_values() + begin;
  const auto word = static_cast<typename key_codec<value>::word>(descending ? ~bound : bound);
  const value last = key_codec<value>::decode(word);
  unsigned within = 0;
  if (descending) {
    for (std::int64_t i = 0; i < count; ++i) within |= values[i] < last ? 0U : 1U;
  } else {
    for (std::int64_t i = 0; i < count; ++i) within |= values[i] > last ? 0U : 1U;
  }
  return within != 0;
}

// The same for all types. Types whose words are as expensive as comparisons always return true.
bool may_be_within(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t bound,
                   bool descending) {
  if (bound == no_bound) return true;
  switch (chunk.type_id()) {
    case arrow::Type::INT8:
      return any_within<arrow::Int8Array>(chunk, begin, count, bound, descending);
    case arrow::Type::INT16:
      return any_within<arrow::Int16Array>(chunk, begin, count, bound, descending);
    case arrow::Type::INT32:
      return any_within<arrow::Int32Array>(chunk, begin, count, bound, descending);
    case arrow::Type::DATE32:
      return any_within<arrow::Date32Array>(chunk, begin, count, bound, descending);
    case arrow::Type::INT64:
      return any_within<arrow::Int64Array>(chunk, begin, count, bound, descending);
    case arrow::Type::TIMESTAMP:
      return any_within<arrow::TimestampArray>(chunk, begin, count, bound, descending);
    case arrow::Type::FLOAT:
      return any_within<arrow::FloatArray>(chunk, begin, count, bound, descending);
    case arrow::Type::DOUBLE:
      return any_within<arrow::DoubleArray>(chunk, begin, count, bound, descending);
    default:
      return true;
  }
}

/// The first rows of one batch.
class batch_top {
 public:
  batch_top(const top_order& order, bool exact, shared_bound& shared)
      : order_(order), ties_go_by_row_(order.only_key && exact), shared_(shared) {
    heap_.reserve(order.limit + 1);
  }

  void add_chunk(const arrow::Array& chunk, std::int64_t first_row) {
    for (std::int64_t begin = 0; begin < chunk.length(); begin += block_rows) {
      const std::int64_t count = std::min(block_rows, chunk.length() - begin);
      if (may_be_within(chunk, begin, count, shared_.get(), order_.descending))
        add_block(chunk, begin, count, first_row);
    }
    if (chunk.null_count() > 0) add_nulls(chunk, first_row);
  }

  /// Appends the rows, ascending.
  void finish(std::vector<std::int64_t>& out) const {
    const std::uint64_t bound = shared_.get();
    for (const auto& c : candidates_) {
      if (c.word <= bound) out.push_back(c.row);
    }
    // A bound implies that there are enough rows with values.
    if (order_.nulls_first || bound == no_bound) out.insert(out.end(), nulls_.begin(), nulls_.end());
    std::sort(out.begin(), out.end());
  }

 private:
  static constexpr std::int64_t block_rows = 1024;

  void add_block(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::int64_t first_row) {
    std::array<std::uint64_t, block_rows> words;
    coarse_words(chunk, begin, count, words.data());
    const std::uint64_t flip = order_.descending ? ~std::uint64_t{0} : 0;
    const std::uint64_t bound = shared_.get();
    const bool nulls = chunk.null_count() > 0;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::uint64_t word = words[static_cast<std::size_t>(i)] ^ flip;
      if (word > bound || (nulls && chunk.IsNull(begin + i))) continue;
      const bool full = heap_.size() == order_.limit;
      if (full && (word > heap_.front() || (ties_go_by_row_ && word == heap_.front()))) continue;
      candidates_.push_back({word, first_row + begin + i});
      push(word);
    }
    if (heap_.size() == order_.limit) shared_.lower(heap_.front());
    if (candidates_.size() > crowd_) thin_out();
  }

  void push(std::uint64_t word) {
    if (heap_.size() == order_.limit) {
      if (word == heap_.front()) return;
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(word);
    std::push_heap(heap_.begin(), heap_.end());
  }

  // Removes rows that were among the first ones when they were added and are not any more.
  void thin_out() {
    const std::uint64_t bound = shared_.get();
    std::erase_if(candidates_, [&](const candidate& c) { return c.word > bound; });
    crowd_ = std::max<std::size_t>(crowd_, candidates_.size() * 2);
  }

  void add_nulls(const arrow::Array& chunk, std::int64_t first_row) {
    if (!order_.nulls_first && shared_.get() != no_bound) return;
    for (std::int64_t i = 0; i < chunk.length(); ++i) {
      if (order_.only_key && nulls_.size() == order_.limit) return;
      if (chunk.IsNull(i)) nulls_.push_back(first_row + i);
    }
  }

  const top_order& order_;
  bool ties_go_by_row_;
  shared_bound& shared_;
  std::vector<std::uint64_t> heap_;  // max-heap of the first words
  std::vector<candidate> candidates_;
  std::vector<std::int64_t> nulls_;
  std::size_t crowd_ = 1 << 14;
};

}  // namespace

std::vector<std::int64_t> top_row_candidates(const arrow::ChunkedArray& first_key, const top_order& order) {
  const bool exact = coarse_words_are_exact(*first_key.type());
  shared_bound shared;
  std::vector<std::vector<std::int64_t>> pieces(batch_count(first_key.length()));
  for_each_batch(first_key.length(), [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    batch_top top(order, exact, shared);
    const auto piece = first_key.Slice(begin, count);
    for (const auto& chunk : piece->chunks()) {
      top.add_chunk(*chunk, begin);
      begin += chunk->length();
    }
    top.finish(pieces[i]);
  });
  std::vector<std::int64_t> out;
  for (const auto& piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

}  // namespace espalier::engine
