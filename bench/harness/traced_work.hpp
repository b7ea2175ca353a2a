// traced_work.hpp - the input of a recorded run: the tree, its initial keys, and the keys of its operations.
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
  std::vector<std::uint64_t> keys;      ///< of the data, whether or not the tree starts with them
  std::vector<std::uint64_t> incoming;  ///< existing keys, in the order of requests
  std::vector<std::uint64_t> fresh;     ///< new keys; empty for trees that are not updated
  std::string about;                    ///< the recorded part of the run: "with u64 keys"
  std::string no_hooks;                 ///< why the library may not support the tree, for the user
};

/// Throws bad_arguments if there are no such keys, or if that index is not recorded there.
[[nodiscard]] traced_work make_traced_work(const options& what);

}  // namespace espalier::bench
