// memory_budget.hpp - how much memory a statement may take.
//
// Arrow's default pool counts what columns take, held_memory what indexes take; the engine's own large arrays are
// claimed by the operators that make them, on whatever thread of the statement. A statement looks at the sum whenever
// it asks whether to stop (stop.hpp): once for each block of rows, so it exceeds the limit by no more than some blocks
// before it is refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace espalier::engine {

class memory_budget {
 public:
  /// `limit`: bytes beyond what is allocated now; none: 80 % of what the machine or its cgroup has, with what is
  /// allocated now.
  explicit memory_budget(std::optional<std::int64_t> limit);

  /// Throws `engine_error` (53200) where the statement has more than its limit, or would have with `more` bytes.
  void check(std::int64_t more = 0) const;
  void add(std::int64_t bytes) noexcept { claimed_ += bytes; }
  [[nodiscard]] std::int64_t limit() const noexcept { return limit_; }

  /// Of the statement that this thread began, or helps with (parallel.hpp); null: it is not limited.
  [[nodiscard]] static memory_budget* current() noexcept;

 private:
  std::int64_t limit_;
  std::int64_t before_;
  std::atomic<std::int64_t> claimed_{0};
};

/// While it lives, this thread's statement has that budget.
class memory_scope {
 public:
  explicit memory_scope(memory_budget* budget) noexcept;
  memory_scope(const memory_scope&) = delete;
  memory_scope& operator=(const memory_scope&) = delete;
  ~memory_scope();

 private:
  memory_budget* before_;
};

/// Memory outside of Arrow's pool that outlives statements, such as that of an index: counted as allocated while this
/// lives.
class held_memory {
 public:
  held_memory() = default;
  held_memory(held_memory&& other) noexcept;
  held_memory& operator=(held_memory&& other) noexcept;
  ~held_memory();

  /// From now on so much.
  void set(std::size_t bytes) noexcept;
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }

 private:
  std::size_t bytes_ = 0;
};

/// Throws as `check` does where the thread's statement would have more than its limit with `bytes` more.
void require_memory(std::size_t bytes);

/// Memory that the thread's statement takes while this lives. Throws as `check` does.
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

/// 80 % of what the machine has, or of the limit of the process's cgroup where that is less.
[[nodiscard]] std::int64_t default_memory_limit();
/// "512MB", "4 GB", "1.5GiB", "80%" (of what the machine has), "1048576"; none for anything else. Units are powers of
/// 1024, as in PostgreSQL.
[[nodiscard]] std::optional<std::int64_t> memory_size(std::string_view text);

}  // namespace espalier::engine
