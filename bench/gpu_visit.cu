// gpu_visit.cu - reduce() over all elements of an index on a GPU.
#include "bench/gpu_visit.hpp"

#include "bench/element_bits.hpp"
#include "espalier/static_tree/visit.hpp"

namespace espalier::bench {
namespace {

template <class Tree>
std::uint64_t visit_all(const Tree& tree) {
  return reduce(tree, std::uint64_t{0}, element_bits{}, add_bits{}, visit_options{.first = 0, .last = tree.size()});
}

}  // namespace

std::uint64_t visit_on_gpu(const static_tree<std::uint32_t, std::uint32_t>& tree) { return visit_all(tree); }
std::uint64_t visit_on_gpu(const static_tree<std::uint64_t, std::uint64_t>& tree) { return visit_all(tree); }
std::uint64_t visit_on_gpu(const static_tree<float, float>& tree) { return visit_all(tree); }
std::uint64_t visit_on_gpu(const static_tree<double, double>& tree) { return visit_all(tree); }

}  // namespace espalier::bench
