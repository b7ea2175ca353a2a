// multi_target.hpp - compiles one algorithm source either normally or once per SIMD target.
//
// In a normal compilation (user code, nvcc) algorithms live in espalier::portable, an inline namespace. In a Highway
// multi-target unit they are compiled once for every SIMD target, each time in a separate namespace (espalier::N_AVX2,
// espalier::N_NEON ...) and with that target's instructions enabled.
//
// A header with algorithms:
//
//   #if defined(ESPALIER_FOO_HPP) == defined(HWY_TARGET_TOGGLE)  // opens again for every target
//   #ifdef ESPALIER_FOO_HPP
//   #undef ESPALIER_FOO_HPP
//   #else
//   #define ESPALIER_FOO_HPP
//   #endif
//   #include "espalier/team/multi_target.hpp"
//   #include "espalier/team/team.hpp"
//   ESPALIER_BEGIN_TARGET_NAMESPACE
//   template <Team T> ESPALIER_INLINE unsigned foo(T team, const std::uint32_t* node, std::uint32_t key) {
//     return team.template rank<0>(team.template view<8>(node), key);
//   }
//   ESPALIER_END_TARGET_NAMESPACE
//   #endif
//
// A multi-target unit "foo.cpp" (types and other code that must not be repeated stay in #pragma once headers):
//
//   #define ESPALIER_MULTI_TARGET
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "foo.cpp"  // this file, found by an include path
//   #include "hwy/foreach_target.h"       // first include: compiles this file for all targets but one
//   #include "espalier/team/simd_thread.hpp"
//   #include "espalier/foo.hpp"
//   ESPALIER_BEGIN_TARGET_NAMESPACE
//   unsigned foo_simd(const std::uint32_t* node, std::uint32_t key) { return foo(simd_thread<>{}, node, key); }
//   ESPALIER_END_TARGET_NAMESPACE
//   #if HWY_ONCE
//   namespace espalier {
//   HWY_EXPORT(foo_simd);
//   unsigned foo_best(const std::uint32_t* node, std::uint32_t key) {
//     return HWY_DYNAMIC_DISPATCH(foo_simd)(node, key);
//   }
//   }
//   #endif
//
// This file has no #pragma once, because hwy/highway.h must be included again for each target.

#include "espalier/core/config.hpp"

#ifdef ESPALIER_MULTI_TARGET
#include "hwy/highway.h"
#endif

#ifndef ESPALIER_BEGIN_TARGET_NAMESPACE

#if ESPALIER_CUDA_COMPILER
// An algorithm is __host__ __device__, but its team is often only one of the two, and nvcc would warn about the
// instantiation that is never called.
#define ESPALIER_EITHER_SIDE _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 20011,20013,20014,20015")
#define ESPALIER_END_EITHER_SIDE _Pragma("nv_diagnostic pop")
#else
#define ESPALIER_EITHER_SIDE
#define ESPALIER_END_EITHER_SIDE
#endif

#ifdef ESPALIER_MULTI_TARGET
#define ESPALIER_BEGIN_TARGET_NAMESPACE \
  HWY_BEFORE_NAMESPACE();               \
  namespace espalier {                  \
  namespace HWY_NAMESPACE {
#define ESPALIER_END_TARGET_NAMESPACE \
  }                                   \
  }                                   \
  HWY_AFTER_NAMESPACE();
#else
#define ESPALIER_BEGIN_TARGET_NAMESPACE \
  ESPALIER_EITHER_SIDE                  \
  namespace espalier {                  \
  inline namespace portable {
#define ESPALIER_END_TARGET_NAMESPACE \
  }                                   \
  }                                   \
  ESPALIER_END_EITHER_SIDE
#endif

#endif  // ESPALIER_BEGIN_TARGET_NAMESPACE
