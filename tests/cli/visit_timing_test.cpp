// visit_timing_test.cpp - a visit that misses an element, or sees one twice, is not measured.
#include "bench/harness/visit_timing.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace espalier::bench {
namespace {

TEST(visit_timing, the_right_checksum_gives_seconds) {
  std::uint64_t visits = 0;
  const double seconds = seconds_of_visit("the tree", 42, 1, [&] {
    ++visits;
    return std::uint64_t{42};
  });
  EXPECT_GT(seconds, 0);
  EXPECT_GT(visits, 1u) << "checked, then timed";
}

TEST(visit_timing, a_wrong_checksum_ends_the_run_and_names_both) {
  try {
    static_cast<void>(seconds_of_visit("the tree", 42, 1, [] { return std::uint64_t{41}; }));
    FAIL() << "a wrong answer was timed";
  } catch (const cli::wrong_answer& e) {
    const std::string text = e.what();
    for (const char* part : {"visit", "42", "the tree", "41"}) EXPECT_NE(text.find(part), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace espalier::bench
