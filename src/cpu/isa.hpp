// The instruction sets that this processor and its operating system offer, as far as libraries and
// operands depend on them, and the attributes that compile a loop for several of them.
#pragma once

#include <string>

namespace deepbench::cpu {

struct Isa {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD", ...; empty without the cpuid instruction
  int family = 0;
  bool avx2 = false;
  bool avx512 = false;       // F, CD, BW, DQ and VL, the subset that libraries call AVX-512
  bool avx512_vnni = false;  // sums 8-bit products in 32 bits without a saturating step
  bool avx_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_int8 = false;
  bool amx_bf16 = false;

  std::string text() const;  // "avx2", "avx512 vnni bf16 amx"
};

const Isa& isa();

}  // namespace deepbench::cpu

// A function with this attribute is compiled for the vectors of its caller.
#define DEEPBENCH_CPU_INLINED __attribute__((always_inline))

// Compiles a function once for the baseline and once for each wider vector unit; the loader picks
// one. A loop with the 16-byte vectors of the baseline would not be a fair comparison for any
// library. The thread sanitizer is excluded because it is not ready when the loader picks.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define DEEPBENCH_CPU_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DEEPBENCH_CPU_CLONES
#endif
