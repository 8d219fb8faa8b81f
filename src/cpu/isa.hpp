// The instruction sets of this processor and its operating system on which libraries and operands
// depend.
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
