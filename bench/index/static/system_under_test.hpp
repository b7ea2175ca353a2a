// system_under_test.hpp - the index under measurement with its types erased: a thin wrapper around static_tree<Key,
// Value>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "bench/harness/cli_names.hpp"
#include "bench/index/request.hpp"
#include "espalier/device/device.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier::bench {

struct build_request {
  const void* keys = nullptr;
  const void* values = nullptr;
  std::size_t size = 0;
  build_options options;
};

class system_under_test {
 public:
  virtual ~system_under_test() = default;
  /// Replaces the index after freeing the old one.
  virtual void build(const build_request& what, const device& dev) = 0;
  virtual void clear() = 0;
  virtual void run(operation op, const request& what) const = 0;
  /// Returns the checksum of all elements (element_checksum.hpp), or nothing if it is not compiled for this device and
  /// types.
  [[nodiscard]] virtual std::optional<std::uint64_t> visit() const = 0;
  [[nodiscard]] virtual tree_stats stats() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  [[nodiscard]] virtual explanation explain(std::size_t queries, const query_options& options) const = 0;
};

[[nodiscard]] std::unique_ptr<system_under_test> make_system_under_test(scalar_kind key, scalar_kind value);

}  // namespace espalier::bench
