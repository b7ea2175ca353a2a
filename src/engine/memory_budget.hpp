// memory_budget.hpp - limits the memory of a statement.
//
// Arrow's default pool counts the memory of columns and held_memory that of indexes; operators claim their own large
// arrays, on any thread of the statement. A statement checks the sum whenever it polls for cancellation (stop.hpp),
// which is once per block of rows, so it exceeds the limit by at most a few blocks before it fails.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier::engine {

class memory_budget {
 public:
  /// `limit` is in bytes beyond what is allocated now. Without a limit it is 80 % of the memory of the machine or its
  /// cgroup, including what is allocated now.
  explicit memory_budget(std::optional<std::int64_t> limit);

  /// Throws `engine_error` (53200) if the statement exceeds its limit, or would with `more` bytes.
  void check(std::int64_t more = 0) const;
  void add(std::int64_t bytes) noexcept { claimed_ += bytes; }
  [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }

  /// Returns the budget of the statement that this thread runs or helps with (parallel.hpp); null means unlimited.
  [[nodiscard]] static memory_budget* current() noexcept;

 private:
  std::int64_t limit_;
  std::int64_t before_;
  std::atomic<std::int64_t> claimed_{0};
};

/// Sets the budget of this thread's statement during its lifetime.
class memory_scope {
 public:
  explicit memory_scope(memory_budget* budget) noexcept;
  memory_scope(const memory_scope&) = delete;
  memory_scope& operator=(const memory_scope&) = delete;
  ~memory_scope();

 private:
  memory_budget* before_;
};

/// Memory outside of Arrow's pool that outlives statements, such as that of an index. It counts as allocated during the
/// lifetime of this object.
class held_memory {
 public:
  held_memory() = default;
  held_memory(held_memory&& other) noexcept;
  held_memory& operator=(held_memory&& other) noexcept;
  ~held_memory();

  /// Sets the current number of bytes.
  void set(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Throws as `check` does if the thread's statement would exceed its limit with `bytes` more.
void require_memory(std::size_t bytes);

/// Memory that the thread's statement uses during the lifetime of this object. Throws as `check` does.
class memory_claim {
 public:
  explicit memory_claim(std::size_t bytes);
  memory_claim(const memory_claim&) = delete;
  memory_claim& operator=(const memory_claim&) = delete;
  ~memory_claim();

 private:
  memory_budget* budget_;
  std::int64_t bytes_;
};

/// Returns 80 % of the memory of the machine, or of the process's cgroup limit if that is less.
[[nodiscard]] std::int64_t default_memory_limit();
/// Parses "512MB", "4 GB", "1.5GiB", "80%" (of the machine's memory) or "1048576"; returns nothing for anything else.
/// Units are powers of 1024, as in PostgreSQL.
[[nodiscard]] std::optional<std::int64_t> memory_size(std::string_view text);

}  // namespace espalier::engine
