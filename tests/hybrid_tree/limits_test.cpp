// limits_test.cpp - how large a tree may be, without building one that is.
#include <gtest/gtest.h>

#include <string>

#include "hybrid_tree/host_tree.hpp"

namespace espalier::test {
namespace {

using detail::element_type;
using detail::require_line_numbers;

TEST(HybridLimits, LinesAreNumberedIn32Bits) {
  const element_type pairs{scalar_kind::u64, scalar_kind::u64, 8}, set{scalar_kind::u32, scalar_kind::opaque, 0};
  for (const element_type& e : {pairs, set}) {
    const std::uint64_t most = std::uint64_t{0xffffffffu} * detail::keys_per_line(e);
    EXPECT_NO_THROW(require_line_numbers(e, 0));
    EXPECT_NO_THROW(require_line_numbers(e, most));
    EXPECT_THROW(require_line_numbers(e, most + 1), error);
  }
  EXPECT_EQ(detail::keys_per_line(pairs), 32u / 8);
  EXPECT_EQ(detail::keys_per_line(set), 32u / 4);
}

TEST(HybridLimits, TheErrorSaysWhatIsTooMany) {
  try {
    require_line_numbers({scalar_kind::u64, scalar_kind::u64, 8}, std::uint64_t{1} << 35);
    FAIL();
  } catch (const error& e) {
    EXPECT_NE(std::string(e.what()).find(std::to_string(std::uint64_t{1} << 35)), std::string::npos);
  }
}

}  // namespace
}  // namespace espalier::test
