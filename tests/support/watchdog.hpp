// watchdog.hpp - for tests of what might wait for itself: a hang is a failure with a name, not a test that never ends.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <utility>

namespace espalier::test {

/// Runs `work` in a thread of its own and waits. A thread that hangs cannot be ended, so the process is.
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
