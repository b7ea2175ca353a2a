// stop.hpp - how a running statement learns that it is to stop.
//
// The question whether to stop belongs to the thread that runs the statement and, inside the loops of parallel.hpp, to
// every thread that helps it. Whatever works on many rows calls check_cancelled once for each block of them; what puts
// a change in place is put under a scope without a question, so that it is done as a whole.
#pragma once

#include <algorithm>
#include <cstddef>

#include "espalier/engine/stop.hpp"

namespace espalier::engine {

/// While it lives, this thread works for a statement with this question; null: for one that cannot be stopped.
class cancellation_scope {
 public:
  explicit cancellation_scope(const cancellation_token* question) noexcept;
  cancellation_scope(const cancellation_scope&) = delete;
  cancellation_scope& operator=(const cancellation_scope&) = delete;
  ~cancellation_scope();

  /// This thread's question.
  [[nodiscard]] static const cancellation_token* current() noexcept;

 private:
  const cancellation_token* before_;
};

/// Throws `query_cancelled` if this thread's statement is to stop.
void check_cancelled();

/// Rows that a loop may pass without a check_cancelled: some milliseconds.
inline constexpr std::size_t rows_between_checks = std::size_t{1} << 16;

/// Calls body(from, to) for blocks of [begin, end), one after the other, with a check before each.
template <class Body>
void in_blocks(std::size_t begin, std::size_t end, const Body& body) {
  for (std::size_t from = begin; from < end; from += rows_between_checks) {
    check_cancelled();
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
