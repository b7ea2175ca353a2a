// scalar_visit.hpp - figure 4 of paper 002, right: a scalar operation on all values of a collection, with results in
// key order in an array. Trees are visited by transform(), a flat array by TBB or Thrust, absl::btree_map by one
// thread.
#pragma once

#include <cstdint>
#include <span>

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/core/config.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::bench {

/// The operation is value * 3 + 1 modulo 2^32.
struct scalar_operation {
  ESPALIER_HD std::uint32_t operator()(std::uint32_t value) const { return value * 3 + 1; }
  ESPALIER_HD std::uint32_t operator()(std::uint32_t, std::uint32_t value) const { return value * 3 + 1; }
};

/// Returns one row for the static tree and one for each shape of what.blink.shapes (protocol blink, inner index
/// express_lane; slots 0, 8, 32, 128, 4096), for each of what.keys. Keys and values are u32. Throws wrong_answer.
[[nodiscard]] report measure_scalar_visits(const options& what);

template <unsigned Slots>
using tree_of_slots =
    blink_tree<std::uint32_t, std::uint32_t, blink_policy<protocol::blink, inner_index::express_lane, Slots>>;
using flat_tree = static_tree<std::uint32_t, std::uint32_t>;

// Defined in scalar_visit_gpu.cu. All memory is the GPU's; each call waits.
template <unsigned Slots>
void apply_on_gpu(const tree_of_slots<Slots>& tree, std::span<std::uint32_t> out);
void apply_on_gpu(const flat_tree& tree, std::span<std::uint32_t> out);
/// Runs thrust::transform over an array of values.
void apply_on_gpu(const device& dev, std::span<const std::uint32_t> values, std::span<std::uint32_t> out);

}  // namespace espalier::bench
