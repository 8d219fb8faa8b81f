// Reads, writes and copies memory as fast as one core can, with a version for every vector unit.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// All functions work on 32-bit words; the first word is aligned to 64 bytes.
struct Traffic {
  uint32_t (*read)(const uint32_t* words, uint64_t count);  // Returns the xor of all words.
  void (*write)(uint32_t* words, uint64_t count, uint32_t pattern);
  void (*copy)(uint32_t* to, const uint32_t* from, uint64_t count);
};

// Both tables are for the widest vector unit of this processor. Non-temporal stores bypass the
// caches and do not first read the lines that they overwrite; reads are the same in both.
const Traffic& plain_traffic();
const Traffic& nontemporal_traffic();

// Versions for one vector unit. Call them only on a processor that has it.
#if defined(__x86_64__)
extern const Traffic kPlainAvx2, kNontemporalAvx2, kPlainAvx512, kNontemporalAvx512;
#endif

}  // namespace deepbench::cpu
