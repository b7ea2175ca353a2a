// error_test.cpp - out_of_memory tells how much was asked for and how much was there.
#include "espalier/core/error.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>

namespace espalier::test {
namespace {

bool says(const error& e, const std::string& words) { return std::string(e.what()).find(words) != std::string::npos; }

TEST(out_of_memory, keeps_both_numbers) {
  const out_of_memory e("cpu", 12345, 678);
  EXPECT_EQ(e.asked(), 12345u);
  EXPECT_EQ(e.free(), 678u);
}

TEST(out_of_memory, message_is_one_sentence_with_exact_and_readable_numbers) {
  const out_of_memory e("NVIDIA H200", 3221225472, 1536);
  EXPECT_TRUE(says(e, "NVIDIA H200")) << e.what();
  EXPECT_TRUE(says(e, "3221225472 bytes (3.0 GiB)")) << e.what();
  EXPECT_TRUE(says(e, "1536 bytes (1.5 KiB)")) << e.what();
  EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos);
  EXPECT_EQ(std::string(e.what()).back(), '.');
}

TEST(out_of_memory, small_and_huge_numbers_are_readable) {
  EXPECT_TRUE(says(out_of_memory("cpu", 1, 0), " 1 byte: 0 bytes are free"));
  EXPECT_TRUE(says(out_of_memory("cpu", 1023, 1), "1023 bytes: 1 byte is free"));
  EXPECT_TRUE(says(out_of_memory("cpu", (std::size_t{1} << 20) - 1, 0), "(1.0 MiB)"));
  EXPECT_TRUE(says(out_of_memory("cpu", std::numeric_limits<std::size_t>::max(), 0), "(16.0 EiB)"));
}

TEST(error, knows_its_kind_and_the_code_of_the_driver) {
  EXPECT_EQ(error("Give as many values as keys.").kind(), error_kind::invalid_argument);
  EXPECT_EQ(out_of_memory("cpu", 2, 1).kind(), error_kind::out_of_memory);
  EXPECT_EQ(overflow("The sum does not fit.").kind(), error_kind::overflow);
  try {
    throw device_error("cudaMemcpyAsync failed.", 700);
  } catch (const error& e) {
    EXPECT_EQ(e.kind(), error_kind::device);
    EXPECT_EQ(dynamic_cast<const device_error&>(e).code(), 700);
  }
}

TEST(out_of_memory, is_caught_as_error_and_as_runtime_error) {
  EXPECT_THROW(throw out_of_memory("cpu", 2, 1), error);
  EXPECT_THROW(throw out_of_memory("cpu", 2, 1), std::runtime_error);
  EXPECT_THROW(throw overflow("the sum does not fit."), error);
}

}  // namespace
}  // namespace espalier::test
