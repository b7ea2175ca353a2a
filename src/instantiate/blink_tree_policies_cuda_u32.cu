// blink_tree_policies_cuda_u32.cu - see blink_tree_policies.ipp.
#define ESPALIER_CONTEXT blink_cuda_executor
#define ESPALIER_WORD std::uint32_t
#include "blink_tree/cuda_executor.cuh"
#include "instantiate/blink_tree_policies.ipp"
