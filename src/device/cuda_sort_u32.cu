// cuda_sort_u32.cu - sort_pairs for keys of 32 bits.
#include "src/device/cuda_sort.cuh"

namespace espalier {

template bool cuda_backend::sort_pairs(const stream&, std::uint32_t*, std::uint32_t*, void*, void*, unsigned,
                                       std::size_t, unsigned, unsigned) const;

}  // namespace espalier
