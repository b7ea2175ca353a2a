// blink_tree_widths_cuda_u64.cu - see blink_tree_widths.ipp.
#define ESPALIER_CONTEXT blink_cuda_executor
#define ESPALIER_WORD std::uint64_t
#include "blink_tree/cuda_executor.cuh"
#include "instantiate/blink_tree_widths.ipp"
