// Reading, writing and copying memory as fast as one core can, for every vector unit.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// All on stretches of 32-bit words that begin at a multiple of 64 bytes.
struct Traffic {
  uint32_t (*read)(const uint32_t* words, uint64_t count);  // the xor of all
  void (*write)(uint32_t* words, uint64_t count, uint32_t pattern);
  void (*copy)(uint32_t* to, const uint32_t* from, uint64_t count);
};

// For the widest vector unit of this processor. Non-temporal stores go past the caches, without
// first reading the lines that they overwrite; reading is the same.
const Traffic& plain_traffic();
const Traffic& nontemporal_traffic();

// For one vector unit each; they may be called only where there is one.
#if defined(__x86_64__)
extern const Traffic kPlainAvx2, kNontemporalAvx2, kPlainAvx512, kNontemporalAvx512;
#endif

}  // namespace deepbench::cpu
