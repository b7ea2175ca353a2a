// config.hpp - compiler-dependent macros and types. The only file that depends on the compiler.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define ESPALIER_CUDA_COMPILER 1
#define ESPALIER_HD __host__ __device__
#define ESPALIER_DEVICE __device__
// Rarely executed functions: not inlined, which shortens compilation.
#define ESPALIER_COLD __host__ __device__ __noinline__
#else
#define ESPALIER_COLD __attribute__((noinline))
#define ESPALIER_CUDA_COMPILER 0
#define ESPALIER_HD
#define ESPALIER_DEVICE
#endif

// Functions on the path of a single query: always inlined.
#define ESPALIER_INLINE ESPALIER_HD inline __attribute__((always_inline))

// Functions called once for a batch of queries. On a CPU the batch hides the cost of the call, and one copy instead of
// one for each caller halves the build time; on a GPU a batch is one query.
#if ESPALIER_CUDA_COMPILER
#define ESPALIER_PER_BATCH ESPALIER_INLINE
#else
#define ESPALIER_PER_BATCH inline __attribute__((noinline))
#endif

namespace espalier {

// Signed and unsigned 128-bit integers; __extension__ suppresses a warning of -Wpedantic.
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

}  // namespace espalier
