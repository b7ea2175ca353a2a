// radix_tree_cuda.cu - see radix_tree.ipp.
#define ESPALIER_CONTEXT radix_cuda_executor
#include "instantiate/radix_tree.ipp"
#include "radix_tree/cuda_executor.cuh"
