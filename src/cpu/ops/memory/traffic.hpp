// The inner loops that read, write and copy memory as fast as one core can, with ordinary and with
// non-temporal stores.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// A stretch of 32-bit words that begins at a multiple of 64 bytes.
uint32_t xor_words(const uint32_t* words, uint64_t count);
void write_words(uint32_t* words, uint64_t count, uint32_t pattern);
void copy_words(uint32_t* to, const uint32_t* from, uint64_t count);

// Past the caches: without first reading the lines that they overwrite.
void write_words_nontemporal(uint32_t* words, uint64_t count, uint32_t pattern);
void copy_words_nontemporal(uint32_t* to, const uint32_t* from, uint64_t count);

}  // namespace deepbench::cpu
