// static_tree_cuda_u32.cu - the static tree on a GPU, u32 words.
#include "static_tree/cuda_executor.cuh"
#include "static_tree/index_impl.hpp"

namespace espalier::detail {

template std::unique_ptr<static_index> build_index_on<cuda_executor, std::uint32_t>(const device&, element_type,
                                                                                    const void*, const void*,
                                                                                    std::size_t, const build_options&,
                                                                                    const execution&);

}  // namespace espalier::detail
