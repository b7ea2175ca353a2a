// traced_work.hpp - what a recorded run works on: the tree, the keys it begins with, and those it is then asked about.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/options.hpp"
#include "espalier/device/device.hpp"
#include "explorer/live_tree.hpp"

namespace espalier::bench {

inline constexpr std::uint64_t most_traced_keys = 4096;
inline constexpr std::uint64_t most_traced_operations = 512;

struct traced_work {
  device dev;
  explorer::live_request tree;
  std::vector<std::uint64_t> keys;      ///< of the data, whether or not the tree begins with them
  std::vector<std::uint64_t> incoming;  ///< keys that are there, in the order in which they are asked for
  std::vector<std::uint64_t> fresh;     ///< keys that are not; empty for trees that nobody writes to
  std::string about;                    ///< what of the run is recorded: "with u64 keys"
  std::string no_hooks;                 ///< why the library may refuse to make the tree, for the user
};

/// Throws bad_arguments if there are no such keys, or none of that index are recorded there.
[[nodiscard]] traced_work make_traced_work(const options& what);

}  // namespace espalier::bench
