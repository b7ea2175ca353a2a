// visit_timing.hpp - how every visit of all elements is measured, whoever visits: an index or a peer.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/harness/options.hpp"
#include "bench/harness/timing.hpp"

namespace espalier::bench {

/// Seconds of one visit(), which returns a checksum and must return the right one.
template <class Visit>
[[nodiscard]] double seconds_of_visit(std::string_view who, std::uint64_t right, unsigned repeat, const Visit& visit) {
  if (const std::uint64_t checksum = visit(); checksum != right) {
    throw wrong_answer(fmt::format("visit: the elements' checksum is {}, {}'s is {}.", right, who, checksum));
  }
  return median_seconds(repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) static_cast<void>(visit());
  });
}

}  // namespace espalier::bench
