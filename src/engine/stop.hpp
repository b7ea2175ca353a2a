// stop.hpp - cancellation of running statements.
//
// The cancellation token belongs to the thread that runs the statement and, inside the loops of parallel.hpp, to every
// thread that helps it. Code that processes many rows calls check_cancelled once per block of them. A change is
// committed in a scope without a token, so that it is not interrupted.
#pragma once

#include <algorithm>
#include <cstddef>

#include "espalier/engine/stop.hpp"

namespace espalier::engine {

/// Sets the token of this thread's statement during its lifetime; null means that it cannot be cancelled.
class cancellation_scope {
 public:
  explicit cancellation_scope(const cancellation_token* question) noexcept;
  cancellation_scope(const cancellation_scope&) = delete;
  cancellation_scope& operator=(const cancellation_scope&) = delete;
  ~cancellation_scope();

  /// Returns this thread's token.
  [[nodiscard]] static const cancellation_token* current() noexcept;

 private:
  const cancellation_token* before_;
};

/// Throws `query_cancelled` if this thread's statement has been cancelled.
void check_cancelled();

/// The number of rows that a loop may process between checks, which takes a few milliseconds.
inline constexpr std::size_t rows_between_checks = std::size_t{1} << 16;

/// Calls body(from, to) for consecutive blocks of [begin, end), with a check before each.
template <class Body>
void in_blocks(std::size_t begin, std::size_t end, const Body& body) {
  for (std::size_t from = begin; from < end; from += rows_between_checks) {
    check_cancelled();
    body(from, std::min(end, from + rows_between_checks));
  }
}

/// The same for each row.
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
