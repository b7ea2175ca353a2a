// stop.hpp - how a running statement learns that it is to stop.
//
// The question whether to stop belongs to the thread that runs the statement and, inside the loops of parallel.hpp, to
// every thread that helps it. Whatever works on many rows calls check_stop once for each block of them; what puts a
// change in place is put under a scope without a question, so that it is done as a whole.
#pragma once

#include <algorithm>
#include <cstddef>

#include "espalier/engine/stop.hpp"

namespace espalier::engine {

/// While it lives, this thread works for a statement with this question; null: for one that cannot be stopped.
class stop_scope {
 public:
  explicit stop_scope(const stop_question* question) noexcept;
  stop_scope(const stop_scope&) = delete;
  stop_scope& operator=(const stop_scope&) = delete;
  ~stop_scope();

  /// This thread's question.
  [[nodiscard]] static const stop_question* current() noexcept;

 private:
  const stop_question* before_;
};

/// Throws `statement_stopped` if this thread's statement is to stop.
void check_stop();

/// Rows that a loop may pass without a check_stop: some milliseconds.
inline constexpr std::size_t rows_between_checks = std::size_t{1} << 16;

/// Calls body(from, to) for blocks of [begin, end), one after the other, with a check before each.
template <class Body>
void in_blocks(std::size_t begin, std::size_t end, const Body& body) {
  for (std::size_t from = begin; from < end; from += rows_between_checks) {
    check_stop();
    body(from, std::min(end, from + rows_between_checks));
  }
}

/// The same row by row.
template <class Body>
void for_each_row(std::size_t begin, std::size_t end, const Body& body) {
  in_blocks(begin, end, [&](std::size_t from, std::size_t to) {
    for (std::size_t row = from; row < to; ++row) body(row);
  });
}
template <class Body>
void for_each_row(std::size_t n, const Body& body) {
  for_each_row(0, n, body);
}

}  // namespace espalier::engine
