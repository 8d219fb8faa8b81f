// Loops compiled for the vectors of several x86-64 processors, and the choice among them when the
// program runs. All of them compute the same values: what is vectorised is independent per element
// or summed in lanes that the source spells out, and nothing is contracted to fused products.
#pragma once

#include "deepbench/core/export.hpp"

namespace deepbench {

enum class SimdLevel { kBaseline, kAvx2, kAvx512 };

// The one in use: the widest of this processor, unless a test asked for a narrower one.
DEEPBENCH_API SimdLevel simd_level();

// For tests and benchmarks, while no loop runs: at most `unit` from here on. Returns what is used.
DEEPBENCH_API SimdLevel limit_simd_level(SimdLevel unit);

// What the body of a loop and all that it calls must be, to be compiled for its caller's vectors.
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

// Used as run_vectorised([&]() DEEPBENCH_ALWAYS_INLINE { ... }) on the widest vectors.
template <class Loop>
void run_vectorised(const Loop& loop) {
#if defined(__x86_64__)
  if (simd_level() == SimdLevel::kAvx512) return loop_in_avx512(loop);
  if (simd_level() == SimdLevel::kAvx2) return loop_in_avx2(loop);
#endif
  loop_in_baseline(loop);
}

}  // namespace deepbench
