// Detects instruction sets by cpuid and by the register state that the operating system saves.
#include "isa.hpp"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace deepbench::cpu {
namespace {

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

bool has_bit(unsigned word, int index) { return (word >> index & 1u) != 0; }

// The register files that the operating system saves (XCR0).
uint64_t os_saved_register_state() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

Isa detect_isa() {
  Isa isa;
  const Registers zero = cpuid(0, 0), one = cpuid(1, 0);
  char vendor[13] = {};
  std::memcpy(vendor, &zero.ebx, 4);
  std::memcpy(vendor + 4, &zero.edx, 4);
  std::memcpy(vendor + 8, &zero.ecx, 4);
  isa.vendor = vendor;
  const int family = int(one.eax >> 8 & 0xf);
  isa.family = family == 0xf ? family + int(one.eax >> 20 & 0xff) : family;
  if (!has_bit(one.ecx, 27)) return isa;  // without OSXSAVE nothing wider than SSE is usable

  constexpr uint64_t kYmm = 0x6, kZmm = 0xe6, kTiles = 0x60000;
  const uint64_t state = os_saved_register_state();
  const Registers seven = cpuid(7, 0), seven_1 = cpuid(7, 1);
  isa.avx2 = (state & kYmm) == kYmm && has_bit(seven.ebx, 5) && has_bit(one.ecx, 12);
  isa.avx512 = (state & kZmm) == kZmm && has_bit(seven.ebx, 16) && has_bit(seven.ebx, 17) &&
               has_bit(seven.ebx, 28) && has_bit(seven.ebx, 30) && has_bit(seven.ebx, 31);
  isa.avx512_vnni = isa.avx512 && has_bit(seven.ecx, 11);
  isa.avx_vnni = isa.avx2 && has_bit(seven_1.eax, 4);
  isa.avx512_bf16 = isa.avx512 && has_bit(seven_1.eax, 5);
  isa.avx512_fp16 = isa.avx512 && has_bit(seven.edx, 23);
  const bool tiles = (state & kTiles) == kTiles && has_bit(seven.edx, 24);
  isa.amx_int8 = tiles && has_bit(seven.edx, 25);
  isa.amx_bf16 = tiles && has_bit(seven.edx, 22);
  return isa;
}

#else

Isa detect_isa() { return {}; }

#endif

}  // namespace

std::string Isa::text() const {
#if defined(__aarch64__)
  return "aarch64";
#else
  std::string text = avx512 ? "avx512" : avx2 ? "avx2" : "sse2";
  if (avx512_vnni) text += " vnni";
  if (avx_vnni && !avx512_vnni) text += " avx_vnni";
  if (avx512_bf16) text += " bf16";
  if (avx512_fp16) text += " fp16";
  if (amx_int8 || amx_bf16) text += " amx";
  return text;
#endif
}

const Isa& isa() {
  static const Isa detected = detect_isa();
  return detected;
}

}  // namespace deepbench::cpu
