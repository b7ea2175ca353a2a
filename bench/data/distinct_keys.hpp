// distinct_keys.hpp - draws from a distribution until enough of the keys are distinct.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "bench/data/generators.hpp"
#include "bench/data/workload.hpp"
#include "bench/harness/options.hpp"

namespace espalier::bench {

/// Draws(spec, n) makes n draws and counts the `different` keys among them. Consecutive keys depend on their number, so
/// the first attempt draws exactly as many as needed. Throws bad_arguments if the distribution does not have that many.
template <class Draws>
[[nodiscard]] Draws draw_distinct(const data_spec& spec, std::uint64_t wanted) {
  const std::uint64_t positions = std::uint64_t{1} << (bytes_of(spec.key) == 4 ? 32 : 40);  // see sorted_positions
  const std::uint64_t most =
      std::min({most_keys(spec.shape, spec.key), positions - 1, std::max<std::uint64_t>(64 * wanted, 4096)});
  if (wanted >= positions) {
    throw cli::bad_arguments(
        fmt::format("--keys: {} keys and {} new ones are more than the {} that data of {} can have: "
                    "give fewer.",
                    spec.keys, wanted - spec.keys, positions - 1, name_of(spec.key)));
  }
  for (std::uint64_t n = wanted;;) {
    Draws d(spec, n);
    if (d.different >= wanted) return d;
    if (n >= most) {
      throw cli::bad_arguments(fmt::format(
          "--keys: {} keys of distribution {} hold only {} different ones of the {} that the tree and its new keys "
          "need: give fewer --keys, or a smaller --batch or --queries.",
          name_of(spec.key), name_of(spec.shape), d.different, wanted));
    }
    const double missing = static_cast<double>(wanted - d.different) / static_cast<double>(wanted);
    n = std::min<std::uint64_t>(most, n + static_cast<std::uint64_t>(static_cast<double>(n) * missing * 1.25) + 64);
  }
}

}  // namespace espalier::bench
