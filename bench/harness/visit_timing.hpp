// visit_timing.hpp - the measurement of visits of all elements, by an index or by a peer.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "bench/harness/options.hpp"
#include "bench/harness/timing.hpp"

namespace espalier::bench {

/// Returns the seconds of one visit(), which must return the expected checksum.
template <class Visit>
[[nodiscard]] double seconds_of_visit(std::string_view who, std::uint64_t right, unsigned repeat, const Visit& visit) {
  if (const std::uint64_t checksum = visit(); checksum != right) {
    throw cli::wrong_answer(fmt::format("visit: the elements' checksum is {}, {}'s is {}.", right, who, checksum));
  }
  return median_seconds(repeat, [&](std::size_t k) {
    for (std::size_t i = 0; i < k; ++i) static_cast<void>(visit());
  });
}

}  // namespace espalier::bench
