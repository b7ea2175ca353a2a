#include "engine/memory_budget.hpp"

#include <arrow/memory_pool.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

thread_local memory_budget* budget_of_this_thread = nullptr;

std::atomic<std::int64_t> held_by_indexes{0};

std::int64_t allocated() {
  return arrow::default_memory_pool()->bytes_allocated() + held_by_indexes.load(std::memory_order_relaxed);
}

std::int64_t machine_memory() {
  const auto pages = static_cast<std::int64_t>(sysconf(_SC_PHYS_PAGES));
  const auto bytes = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
  std::int64_t out = pages > 0 && bytes > 0 ? pages * bytes : std::numeric_limits<std::int64_t>::max() / 100;
  // cgroups version 2 and 1, as seen inside a container.
  for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::int64_t limit = 0;
    if (std::ifstream(file) >> limit && limit > 0) out = std::min(out, limit);
  }
  return out;
}

std::string readable(std::int64_t bytes) {
  constexpr const char* units[] = {"bytes", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", value, units[unit]);
}

}  // namespace

memory_budget::memory_budget(std::optional<std::int64_t> limit) : limit_(0), before_(allocated()) {
  // A statement gets a minimum even if tables fill the memory.
  constexpr std::int64_t least = std::int64_t{64} << 20;
  limit_ = limit ? *limit : std::max(least, default_memory_limit() - before_);
}

void memory_budget::check(std::int64_t more) const {
  if (allocated() - before_ + claimed_.load(std::memory_order_relaxed) + more <= limit_) return;
  throw engine_error(
      fmt::format("The statement needs more memory than its limit of {}; nothing was changed. Ask for fewer rows or "
                  "columns at once, or raise memory_limit.",
                  readable(limit_)),
      codes::out_of_memory);
}

memory_budget* memory_budget::current() noexcept { return budget_of_this_thread; }

memory_scope::memory_scope(memory_budget* budget) noexcept : before_(budget_of_this_thread) {
  budget_of_this_thread = budget;
}

memory_scope::~memory_scope() { budget_of_this_thread = before_; }

held_memory::held_memory(held_memory&& other) noexcept : bytes_(std::exchange(other.bytes_, 0)) {}

held_memory& held_memory::operator=(held_memory&& other) noexcept {
  if (this != &other) {
    set(0);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

held_memory::~held_memory() { set(0); }

void held_memory::set(std::size_t bytes) noexcept {
  held_by_indexes += static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(bytes_);
  bytes_ = bytes;
}

void require_memory(std::size_t bytes) {
  if (const auto* const budget = memory_budget::current()) budget->check(static_cast<std::int64_t>(bytes));
}

memory_claim::memory_claim(std::size_t bytes)
    : budget_(memory_budget::current()), bytes_(static_cast<std::int64_t>(bytes)) {
  if (!budget_) return;
  budget_->check(bytes_);
  budget_->add(bytes_);
}

memory_claim::~memory_claim() {
  if (budget_) budget_->add(-bytes_);
}

std::int64_t default_memory_limit() { return machine_memory() / 10 * 8; }

std::optional<std::int64_t> memory_size(std::string_view text) {
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || !(value >= 0)) return std::nullopt;
  std::string unit(end, text.data() + text.size());
  std::erase_if(unit, [](unsigned char c) { return std::isspace(c) != 0; });
  std::ranges::transform(unit, unit.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::pair<std::string_view, double> units[] = {{"", 1},
                                                       {"b", 1},
                                                       {"kb", 0x1p10},
                                                       {"kib", 0x1p10},
                                                       {"mb", 0x1p20},
                                                       {"mib", 0x1p20},
                                                       {"gb", 0x1p30},
                                                       {"gib", 0x1p30},
                                                       {"tb", 0x1p40},
                                                       {"tib", 0x1p40},
                                                       {"%", static_cast<double>(machine_memory()) / 100}};
  for (const auto& [name, bytes] : units) {
    if (unit != name) continue;
    const double size = value * bytes;
    return size < 0x1p62 ? std::optional(static_cast<std::int64_t>(size)) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace espalier::engine
