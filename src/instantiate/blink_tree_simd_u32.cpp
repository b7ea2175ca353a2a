// blink_tree_simd_u32.cpp - reads of the B-link tree on u32 words, compiled for AVX2.
#define ESPALIER_MULTI_TARGET
// AVX-512 was not faster than AVX2 (docs/design/blink-tree.md).
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "instantiate/blink_tree_simd_u32.cpp"

#undef ESPALIER_WORD
#undef ESPALIER_TABLE
#define ESPALIER_WORD std::uint32_t
#define ESPALIER_TABLE blink_tree_kernels_u32

#include "instantiate/blink_tree_simd.ipp"
