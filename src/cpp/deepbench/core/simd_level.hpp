// Compiles a loop for several x86-64 vector extensions and chooses one at run time. Every version
// computes the same values: vectorized loops are independent per element or sum in lanes that the
// source defines, and the compiler never contracts products to fused multiply-adds.
#pragma once

#include "deepbench/core/export.hpp"

namespace deepbench {

enum class SimdLevel { kBaseline, kAvx2, kAvx512 };

// The level in use: the widest that this processor supports, unless a test has limited it.
DEEPBENCH_API SimdLevel simd_level();

// Limits the level to `level` and returns the level in use. For tests and benchmarks; no loop may
// run meanwhile.
DEEPBENCH_API SimdLevel limit_simd_level(SimdLevel level);

// The loop body and every function it calls need this attribute, so that they are inlined and
// compiled for the caller's vector extension.
#define DEEPBENCH_ALWAYS_INLINE __attribute__((always_inline))

template <class Loop>
__attribute__((noinline)) void loop_in_baseline(const Loop& loop) {
  loop();
}

#if defined(__x86_64__)
template <class Loop>
__attribute__((target("avx2"), noinline)) void loop_in_avx2(const Loop& loop) {
  loop();
}

template <class Loop>
__attribute__((target("avx512f,avx512dq"), noinline)) void loop_in_avx512(const Loop& loop) {
  loop();
}
#endif

// Use: run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE { ... }). Runs the loop at simd_level().
template <class Loop>
void run_vectorized(const Loop& loop) {
#if defined(__x86_64__)
  if (simd_level() == SimdLevel::kAvx512) return loop_in_avx512(loop);
  if (simd_level() == SimdLevel::kAvx2) return loop_in_avx2(loop);
#endif
  loop_in_baseline(loop);
}

}  // namespace deepbench
