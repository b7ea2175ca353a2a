// radix_tree_cuda.cu - see radix_tree.ipp.
#define ESPALIER_CONTEXT radix_cuda_context
#include "radix_tree/cuda_context.cuh"
#include "instantiate/radix_tree.ipp"
