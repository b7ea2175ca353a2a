// gpu_visit.hpp - visiting an index on a GPU: the pairs of types that bench/gpu_visit.cu is compiled for.
//
// A reduction kernel per pair of types costs nvcc seconds; these cover both widths, integers and floats.
#pragma once

#include <cstdint>

#include "espalier/static_tree/static_tree.hpp"

namespace espalier::bench {

[[nodiscard]] std::uint64_t visit_on_gpu(const static_tree<std::uint32_t, std::uint32_t>& tree);
[[nodiscard]] std::uint64_t visit_on_gpu(const static_tree<std::uint64_t, std::uint64_t>& tree);
[[nodiscard]] std::uint64_t visit_on_gpu(const static_tree<float, float>& tree);
[[nodiscard]] std::uint64_t visit_on_gpu(const static_tree<double, double>& tree);

}  // namespace espalier::bench
