#include "engine/exec/window_rows.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include "engine/error.hpp"
#include "engine/expr/relation.hpp"
#include "engine/stop.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

std::shared_ptr<arrow::ChunkedArray> gathered(const std::shared_ptr<arrow::ChunkedArray>& values,
                                              const std::vector<std::int64_t>& rows) {
  relation one;
  one.rows = values->length();
  one.add(0, values);
  return take_rows_or_null(one, rows).columns[0];
}

// A bigint per row of the input; without a column it is 1 for all rows.
class numbers {
 public:
  explicit numbers(const std::shared_ptr<arrow::ChunkedArray>& column) : array_(column ? flat(column) : nullptr) {}

  [[nodiscard]] bool is_null(std::size_t row) const {
    return array_ != nullptr && array_->IsNull(static_cast<std::int64_t>(row));
  }
  [[nodiscard]] std::int64_t operator[](std::size_t row) const {
    return array_ == nullptr ? 1 : static_cast<const arrow::Int64Array&>(*array_).Value(static_cast<std::int64_t>(row));
  }

 private:
  std::shared_ptr<arrow::Array> array_;
};

// The candidates for the least value of a sliding frame: positions in ascending order, with ascending words.
template <class Word>
class candidate_queue {
 public:
  void clear() {
    entries_.clear();
    head_ = 0;
  }
  [[nodiscard]] bool empty() const { return head_ == entries_.size(); }
  [[nodiscard]] std::size_t least() const { return entries_[head_].position; }
  void add(Word word, std::size_t position) {
    while (!empty() && word < entries_.back().word) entries_.pop_back();
    entries_.push_back({word, position});
  }
  void remove_before(std::size_t position) {
    while (!empty() && entries_[head_].position < position) ++head_;
    constexpr std::size_t worth_moving = 4096;
    if (head_ > worth_moving && head_ > entries_.size() / 2) {
      entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(head_));
      head_ = 0;
    }
  }

 private:
  struct entry {
    Word word;
    std::size_t position;
  };
  std::vector<entry> entries_;
  std::size_t head_ = 0;
};

template <class Word>
std::vector<std::int64_t> extreme_rows(const sort_key_column& codes, bool least, const window_order& order,
                                       const window_runs& runs, const frame_rows& frames) {
  std::vector<std::int64_t> out(order.rows());
  const auto word_at = [&](std::size_t row) {
    Word word = codes.words[row];
    if constexpr (sizeof(Word) > sizeof(std::uint64_t)) word |= static_cast<Word>(codes.high[row]) << 64;
    return least ? word : ~word;
  };
  // A part first adds the whole frame of its first row, so there are no more parts than threads.
  for_each_part(runs.partitions, parallel_width(), [&](const window_part& part) {
    candidate_queue<Word> queue;
    std::size_t added = frames.begin[part.begin];
    for_each_row(part.begin, part.end, [&](std::size_t i) {
      for (added = std::max<std::size_t>(added, frames.begin[i]); added < frames.end[i]; ++added) {
        const auto row = order.row(added);
        if (!codes.is_null(row)) queue.add(word_at(row), added);
      }
      queue.remove_before(frames.begin[i]);
      out[order.row(i)] = queue.empty() ? null_row : static_cast<std::int64_t>(order.row(queue.least()));
    });
  });
  return out;
}

}  // namespace

std::shared_ptr<arrow::ChunkedArray> shifted_values(const shift_arguments& arguments, const window_order& order,
                                                    const window_runs& runs) {
  std::vector<std::int64_t> from(order.rows());
  const numbers offsets(arguments.offsets);
  // Defaults stand behind the values, so that one gather reads both.
  const auto behind = static_cast<std::int64_t>(order.rows());
  for_each_part(runs.partitions, independent_pieces(), [&](const window_part& part) {
    for_each_row(part.begin, part.end, [&](std::size_t i) {
      const auto row = order.row(i);
      if (offsets.is_null(row)) {
        from[row] = null_row;
        return;
      }
      const int128 distance = arguments.forward ? int128{offsets[row]} : -int128{offsets[row]};
      const int128 position = static_cast<int128>(i) + distance;
      if (position >= static_cast<int128>(part.first) && position < static_cast<int128>(part.last)) {
        from[row] = static_cast<std::int64_t>(order.row(static_cast<std::size_t>(position)));
      } else {
        from[row] = arguments.defaults ? behind + static_cast<std::int64_t>(row) : null_row;
      }
    });
  });
  if (!arguments.defaults) return gathered(arguments.values, from);
  auto chunks = arguments.values->chunks();
  chunks.insert(chunks.end(), arguments.defaults->chunks().begin(), arguments.defaults->chunks().end());
  return gathered(std::make_shared<arrow::ChunkedArray>(std::move(chunks), arguments.values->type()), from);
}

std::shared_ptr<arrow::ChunkedArray> value_of_frame(const std::string& function,
                                                    const std::shared_ptr<arrow::ChunkedArray>& values,
                                                    const std::shared_ptr<arrow::ChunkedArray>& places,
                                                    const window_order& order, const frame_rows& frames, int position) {
  std::vector<std::int64_t> from(order.rows());
  const numbers wanted(places);
  const bool last = function == "last_value";
  parallel_pieces(order.rows(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = order.row(i);
      const std::size_t count = frames.end[i] - frames.begin[i];
      if (wanted.is_null(row)) {
        from[row] = null_row;
        continue;
      }
      const auto place = wanted[row];
      if (place <= 0) {
        throw_sql_error(codes::invalid_nth_value_argument, position,
                        "The second argument of nth_value has to be greater than zero.");
      }
      const bool exists = static_cast<std::uint64_t>(place) <= count;
      const auto found = last ? frames.end[i] - 1 : frames.begin[i] + static_cast<std::size_t>(place - 1);
      from[row] = exists ? static_cast<std::int64_t>(order.row(found)) : null_row;
    }
  });
  return gathered(values, from);
}

std::shared_ptr<arrow::ChunkedArray> extreme_of_frame(const std::shared_ptr<arrow::ChunkedArray>& values, bool least,
                                                      const window_order& order, const window_runs& runs,
                                                      const frame_rows& frames) {
  const auto codes = ordered_codes(*values);
  return gathered(values, codes.high.empty() ? extreme_rows<std::uint64_t>(codes, least, order, runs, frames)
                                             : extreme_rows<uint128>(codes, least, order, runs, frames));
}

}  // namespace espalier::engine
