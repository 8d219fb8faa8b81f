// What instructions this processor and its operating system offer, as far as libraries and
// operands care, and how our own loops are compiled for them.
#pragma once

#include <string>

namespace deepbench::cpu {

struct Isa {
  std::string vendor;  // "GenuineIntel", "AuthenticAMD", ...; empty where there is no cpuid
  int family = 0;
  bool avx2 = false;
  bool avx512 = false;       // F, CD, BW, DQ and VL: what libraries call AVX-512
  bool avx512_vnni = false;  // 8-bit products summed in 32 bits without a saturating step
  bool avx_vnni = false;
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_int8 = false;
  bool amx_bf16 = false;

  std::string text() const;  // "avx2", "avx512 vnni bf16 amx"
};

const Isa& isa();

}  // namespace deepbench::cpu

// What a function must be, to be compiled for its caller's vectors.
#define DEEPBENCH_CPU_INLINED __attribute__((always_inline))

// Compiles a function once for the baseline and once for each wider vector unit; the loader picks.
// A loop held to the baseline's 16 bytes would be a straw man beside any library. The thread
// sanitizer is not ready yet when the loader picks.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define DEEPBENCH_CPU_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define DEEPBENCH_CPU_CLONES
#endif
