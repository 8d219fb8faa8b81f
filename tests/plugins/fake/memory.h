/* memory of the fake backend: computes single output words on demand. A mutant makes them wrong. */
#ifndef FAKE_MEMORY_H_
#define FAKE_MEMORY_H_

#include "deepbench/fill.h"
#include "scenario.h"

typedef enum MemoryKind {
  kRead,
  kWrite,
  kCopy,
  kExchange,
  kHostToDevice,
  kDeviceToHost
} MemoryKind;

typedef struct Memory {
  MemoryKind kind;
  int64_t words;
  uint64_t seed;
  int constant;  /* inputs: -1 uniform, 0 zeros, 1 ones */
  bool folded;   /* `fold` has been computed */
  uint32_t fold; /* xor of all words */
} Memory;

/* The names of the kinds in problems, in the order of MemoryKind. */
static const char* const kMemoryKinds[] = {"read", "write", "copy", "exchange", "h2d", "d2h"};

static inline uint64_t memory_outputs(const Memory* memory) {
  return memory->kind == kRead ? 1 : (uint64_t)memory->words;
}

static inline uint32_t source_word(const Memory* memory, uint64_t index) {
  if (memory->constant >= 0) return (uint32_t)memory->constant;
  return (uint32_t)(deepbench_bits(memory->seed, 0, index) >> 32) & ~1u;
}

static inline uint32_t xor_of_words(Memory* memory) {
  if (!memory->folded)
    for (int64_t i = 0; i < memory->words; ++i) memory->fold ^= source_word(memory, (uint64_t)i);
  memory->folded = true;
  return memory->fold;
}

static inline double memory_element(Memory* memory, uint64_t index, Mutant mutant) {
  const uint64_t outputs = memory_outputs(memory), last = (uint64_t)memory->words - 1;
  uint32_t word;
  if (memory->kind == kRead) {
    word = xor_of_words(memory);
    if (mutant == kLastK) word ^= source_word(memory, last);
  } else if (memory->kind == kWrite) {
    word = ((uint32_t)(deepbench_bits(memory->seed, 0, UINT64_MAX) >> 32) & ~1u) | 2u;
  } else if (memory->kind == kExchange) { /* 64 steps of more than half of the words */
    const uint64_t words = (uint64_t)memory->words;
    word = source_word(memory, (index + 64 * ((words / 2 + 1) % words)) % words);
  } else {
    word = source_word(memory, index);
  }
  if (outputs > 1 && mutant == kLastK && index == last) word = 0;
  if (mutant == kZeroTile && index >= outputs / 2 && index < outputs / 2 + 16) word = 0;
  if (mutant == kOneOff && index == outputs / 3) word ^= 1u << 30;
  return word;
}

static inline double memory_traffic(const Memory* memory) {
  if (memory->kind == kExchange) return 64 * 8.0 * (double)memory->words;
  return (memory->kind == kCopy ? 8.0 : 4.0) * (double)memory->words;
}

#endif /* FAKE_MEMORY_H_ */
