// event_counter.hpp - hardware and software event counts of the calling thread (perf_event_open): TLB misses, page
// faults. Virtual machines often do not provide hardware counters.
#pragma once

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace espalier::bench {

struct counted_event {
  std::uint32_t type;
  std::uint64_t config;
};
/// Loads that missed all TLBs, as this processor defines them: on Intel those that caused a page walk.
inline constexpr counted_event tlb_load_misses{
    PERF_TYPE_HW_CACHE, PERF_COUNT_HW_CACHE_DTLB | std::uint64_t{PERF_COUNT_HW_CACHE_OP_READ} << 8 |
                            std::uint64_t{PERF_COUNT_HW_CACHE_RESULT_MISS} << 16};
inline constexpr counted_event page_faults{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS};

/// Counts from its construction on, excluding the kernel. Used by the thread that created it.
class event_counter {
 public:
  explicit event_counter(const counted_event& what) {
    perf_event_attr a{};
    a.size = sizeof(a);
    a.type = what.type;
    a.config = what.config;
    a.exclude_kernel = 1;
    a.exclude_hv = 1;
    a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    file_ = static_cast<int>(syscall(SYS_perf_event_open, &a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (file_ < 0) why_not_ = in_words(errno);
  }
  ~event_counter() {
    if (file_ >= 0) close(file_);
  }
  event_counter(const event_counter&) = delete;
  event_counter& operator=(const event_counter&) = delete;

  /// Returns an empty string, or the reason why nothing is counted.
  [[nodiscard]] const std::string& why_not() const { return why_not_; }
  [[nodiscard]] bool is_counting() const { return file_ >= 0; }

  /// Returns the count so far, or nothing if no hardware counter was available yet. If there are more events than
  /// counters, they are multiplexed, and the count is extrapolated.
  [[nodiscard]] std::optional<double> count() const {
    struct {
      std::uint64_t value, enabled, running;
    } now{};
    if (file_ < 0 || read(file_, &now, sizeof(now)) != static_cast<ssize_t>(sizeof(now)) || now.running == 0)
      return std::nullopt;
    return static_cast<double>(now.value) * (static_cast<double>(now.enabled) / static_cast<double>(now.running));
  }

 private:
  [[nodiscard]] static std::string in_words(int code) {
    switch (code) {
      case ENOENT:
      case ENODEV:
      case EOPNOTSUPP:
        return "this processor, or the virtual machine, has no such counter";
      case EACCES:
      case EPERM:
        return "that is not permitted; /proc/sys/kernel/perf_event_paranoid has to be 2 or less";
      default:
        return std::strerror(code);
    }
  }

  int file_ = -1;
  std::string why_not_;
};

}  // namespace espalier::bench
