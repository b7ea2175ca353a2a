// scan_cases.hpp - what an exclusive scan must do, whatever device runs it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "espalier/core/config.hpp"

namespace espalier::test {

/// `scan(elements, in_place)` gives the exclusive prefix sums.
template <class T>
using scan_function = std::function<std::vector<T>(const std::vector<T>&, bool in_place)>;

template <class T>
T random_element(std::mt19937_64& random) {
  if constexpr (sizeof(T) == 16) {
    return static_cast<T>(static_cast<std::int64_t>(random())) * (T{1} << 30);  // sums need more than 64 bits
  } else {
    return static_cast<T>(random() % 1000003) - static_cast<T>(std::is_signed_v<T> ? 500000 : 0);
  }
}

template <class T>
void check_scans(const scan_function<T>& scan) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{1000},
                              std::size_t{65537}, (std::size_t{1} << 20) + 7}) {
    SCOPED_TRACE("n = " + std::to_string(n));
    std::mt19937_64 random(n);
    std::vector<T> elements(n);
    for (T& element : elements) element = random_element<T>(random);
    std::vector<T> expected(n);
    std::exclusive_scan(elements.begin(), elements.end(), expected.begin(), T{0});
    EXPECT_TRUE(scan(elements, false) == expected);
    EXPECT_TRUE(scan(elements, true) == expected);
  }
}

}  // namespace espalier::test
