// cuda_sort_u64.cu - sort_pairs for keys of 64 bits.
#include "src/device/cuda_sort.cuh"

namespace espalier {

template bool cuda_backend::sort_pairs(const stream&, std::uint64_t*, std::uint64_t*, void*, void*, unsigned,
                                       std::size_t, unsigned, unsigned) const;

}  // namespace espalier
