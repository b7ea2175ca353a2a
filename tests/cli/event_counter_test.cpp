// event_counter_test.cpp - counters of the system, by an event that needs none of the processor's.
#include "bench/harness/event_counter.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>

namespace espalier::bench {
namespace {

/// Writes to `pages` pages that nobody has touched yet.
void touch_new_pages(std::size_t pages) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE)), bytes = pages * page;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  madvise(memory, bytes, MADV_NOHUGEPAGE);
  for (std::size_t at = 0; at < bytes; at += page) static_cast<volatile char*>(memory)[at] = 1;
  munmap(memory, bytes);
}

TEST(EventCounter, CountsWhatTheCallingThreadMeets) {
  const event_counter faults(page_faults);
  if (!faults.is_counting()) GTEST_SKIP() << "the system counts nothing: " << faults.why_not();
  const double before = faults.count().value();
  touch_new_pages(1000);
  const double here = faults.count().value() - before;
  EXPECT_GE(here, 1000);
  EXPECT_LT(here, 2000);
  std::thread([] { touch_new_pages(3000); }).join();
  EXPECT_LT(faults.count().value() - before, 3000) << "another thread's";
}

TEST(EventCounter, SaysWhyItDoesNotCount) {
  const event_counter none({0xffffffu, 0});  // a kind of events that no system has
  EXPECT_FALSE(none.is_counting());
  EXPECT_FALSE(none.why_not().empty());
  EXPECT_FALSE(none.count().has_value());
}

}  // namespace
}  // namespace espalier::bench
