// posting_lists.hpp - row lists of keys with several rows, for trees that store one value per key.
//
// The value of a key is its row or the number of a list of rows. List 0 has the rows whose key is NULL. A list has
// distinct, ascending rows. An edit can be reverted: appended rows are truncated, otherwise the old list is kept.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

namespace espalier::engine {

class posting_lists {
 public:
  using list = std::vector<std::uint64_t>;
  static constexpr std::uint64_t list_bit = std::uint64_t{1} << 63;
  static constexpr std::uint64_t nulls = list_bit;  ///< the value that denotes list 0

  [[nodiscard]] static bool is_list(std::uint64_t value) { return (value & list_bit) != 0; }

  /// Returns the rows of a value. A single row is read from the value itself, which must outlive the span.
  [[nodiscard]] std::span<const std::uint64_t> rows(const std::uint64_t& value) const {
    if (!is_list(value)) return {&value, 1};
    return lists_[value & ~list_bit];
  }
  [[nodiscard]] bool any() const { return lists_.size() - free_.size() > 1; }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = lists_.capacity() * sizeof(list);
    for (const list& l : lists_) total += l.capacity() * 8;
    return total;
  }

  /// Creates a list and returns its value. Reserves memory so that free_list() cannot fail.
  [[nodiscard]] std::uint64_t make(list rows) {
    free_.reserve(lists_.size() + 1);
    if (free_.empty()) {
      lists_.push_back(std::move(rows));
      return list_bit | (lists_.size() - 1);
    }
    const std::uint64_t value = free_.back();
    lists_[value & ~list_bit] = std::move(rows);
    free_.pop_back();
    return value;
  }
  void free_list(std::uint64_t value) noexcept {
    list().swap(lists_[value & ~list_bit]);
    free_.push_back(value);
  }

  /// The undo information of a list.
  struct former {
    std::uint64_t value = 0;
    std::size_t size = 0;  ///< the former length, if the list was only appended to
    bool replaced = false;
    list rows;  ///< the former content otherwise
  };
  /// Removes the rows of `out` and adds the rows of `in`; both ascend.
  [[nodiscard]] former edit(std::uint64_t value, std::span<const std::uint64_t> out,
                            std::span<const std::uint64_t> in) {
    list& l = lists_[value & ~list_bit];
    former was{value, l.size(), false, {}};
    if (out.empty() && (l.empty() || in.empty() || l.back() < in.front())) {
      l.insert(l.end(), in.begin(), in.end());
      return was;
    }
    list next = edited(l, out, in);
    was.replaced = true;
    was.rows.swap(l);
    l.swap(next);
    return was;
  }
  void put_back(former& was) noexcept {
    list& l = lists_[was.value & ~list_bit];
    if (was.replaced) {
      l.swap(was.rows);
    } else {
      l.resize(was.size);
    }
  }

  [[nodiscard]] static list edited(std::span<const std::uint64_t> rows, std::span<const std::uint64_t> out,
                                   std::span<const std::uint64_t> in) {
    list kept, next;
    std::set_difference(rows.begin(), rows.end(), out.begin(), out.end(), std::back_inserter(kept));
    std::merge(kept.begin(), kept.end(), in.begin(), in.end(), std::back_inserter(next));
    return next;
  }

 private:
  std::vector<list> lists_{list()};
  std::vector<std::uint64_t> free_;  // values; its capacity suffices for all lists
};

}  // namespace espalier::engine
