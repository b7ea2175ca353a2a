// static_tree_simd_u32.cpp - the static tree's bulk operations on u32 words, once per SIMD target.
#define ESPALIER_MULTI_TARGET
// AVX2 and AVX-512 on x86-64, and the compiler's baseline for processors older than 2013; NEON on arm64. Nodes are 32
// bytes, so SVE adds little and is disabled.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "instantiate/static_tree_simd_u32.cpp"

#undef ESPALIER_WORD
#undef ESPALIER_TABLE
#define ESPALIER_WORD std::uint32_t
#define ESPALIER_TABLE static_tree_kernels_u32

#include "instantiate/static_tree_simd.ipp"
