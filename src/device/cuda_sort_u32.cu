// cuda_sort_u32.cu - sort_pairs for keys of 32 bits.
#include "device/cuda_sort.cuh"

namespace espalier {

template bool cuda_backend::sort_pairs(const stream&, std::uint32_t*, std::uint32_t*, void*, void*, unsigned,
                                       std::size_t, unsigned, unsigned) const;
template void cuda_backend::sort_pairs_from(const stream&, const std::uint32_t*, std::uint32_t*, const void*, void*,
                                            unsigned, std::size_t, unsigned, unsigned) const;

}  // namespace espalier
