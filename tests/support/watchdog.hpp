// watchdog.hpp - for tests that may deadlock: a hang becomes a named failure instead of a test that never ends.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>

namespace espalier::test {

/// Runs `work` in its own thread and waits. A hanging thread cannot be stopped, so the process is terminated.
template <class Work>
void within(std::chrono::seconds limit, Work work) {
  std::future<void> done = std::async(std::launch::async, std::move(work));
  if (done.wait_for(limit) == std::future_status::ready) return done.get();
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  ADD_FAILURE() << test.test_suite_name() << "." << test.name() << " still runs after " << limit.count() << " s";
  std::fflush(nullptr);
  std::_Exit(1);
}

}  // namespace espalier::test
