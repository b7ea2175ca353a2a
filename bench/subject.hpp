// subject.hpp - the index under measurement, with its types hidden: a thin cover over static_tree<Key, Value>.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "bench/names.hpp"
#include "espalier/device/device.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier::bench {

/// One bulk call. Pointers are local to whoever answers it: host memory for a CPU, device memory for a GPU.
struct request {
  const void* keys = nullptr;  ///< queries, or the lower ends of ranges
  const void* hi = nullptr;    ///< upper ends
  std::size_t queries = 0;
  std::array<void*, 3> out{};  ///< as in answers.hpp
  std::uint64_t elements = 0;  ///< range: how many the output holds
  query_options options;
  bool wait = true;  ///< false: return when the work is enqueued on `order`
  stream order;
};

struct build_request {
  const void* keys = nullptr;
  const void* values = nullptr;
  std::size_t size = 0;
  build_options options;
};

class subject {
 public:
  virtual ~subject() = default;
  /// Replaces the index, freeing the old one first.
  virtual void build(const build_request& what, const device& where) = 0;
  virtual void clear() = 0;
  virtual void run(operation op, const request& what) const = 0;
  /// Checksum over all elements (element_bits.hpp); nothing where this device has no code for these types.
  [[nodiscard]] virtual std::optional<std::uint64_t> visit() const = 0;
  [[nodiscard]] virtual tree_stats stats() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  [[nodiscard]] virtual explanation explain(std::size_t queries, const query_options& options) const = 0;
};

[[nodiscard]] std::unique_ptr<subject> make_subject(scalar_kind key, scalar_kind value);

}  // namespace espalier::bench
