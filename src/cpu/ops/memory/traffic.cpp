// Loops over blocks of four cache lines, compiled for every vector unit. Compiled with
// -fno-tree-loop-distribute-patterns: a call of memset or memcpy would choose its stores itself.
#include "ops/memory/traffic.hpp"

#include "isa.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace deepbench::cpu {
namespace {

// One cache line; the compiler splits it into the registers it has.
typedef uint32_t Line __attribute__((vector_size(64), aligned(64), may_alias));
constexpr uint64_t kWords = sizeof(Line) / sizeof(uint32_t);
constexpr uint64_t kBlock = 4;  // lines: independent chains, so that no addition waits for another

struct Lines {
  explicit Lines(uint64_t words) : whole(words / kWords), in_blocks(whole / kBlock * kBlock) {}
  uint64_t whole;      // the rest is a tail of words
  uint64_t in_blocks;  // of these
};

}  // namespace

DEEPBENCH_CPU_CLONES uint32_t xor_words(const uint32_t* words, uint64_t count) {
  const auto* lines = reinterpret_cast<const Line*>(words);
  const Lines all(count);
  Line a = {}, b = {}, c = {}, d = {};
  for (uint64_t i = 0; i < all.in_blocks; i += kBlock) {
    a ^= lines[i];
    b ^= lines[i + 1];
    c ^= lines[i + 2];
    d ^= lines[i + 3];
  }
  for (uint64_t i = all.in_blocks; i < all.whole; ++i) a ^= lines[i];
  a ^= b ^ c ^ d;
  uint32_t total = 0;
  for (uint64_t i = 0; i < kWords; ++i) total ^= a[i];
  for (uint64_t i = all.whole * kWords; i < count; ++i) total ^= words[i];
  return total;
}

DEEPBENCH_CPU_CLONES void write_words(uint32_t* words, uint64_t count, uint32_t pattern) {
  auto* lines = reinterpret_cast<Line*>(words);
  const Lines all(count);
  const Line value = Line{} + pattern;
  for (uint64_t i = 0; i < all.in_blocks; i += kBlock) {
    lines[i] = value;
    lines[i + 1] = value;
    lines[i + 2] = value;
    lines[i + 3] = value;
  }
  for (uint64_t i = all.in_blocks; i < all.whole; ++i) lines[i] = value;
  for (uint64_t i = all.whole * kWords; i < count; ++i) words[i] = pattern;
}

DEEPBENCH_CPU_CLONES void copy_words(uint32_t* to, const uint32_t* from, uint64_t count) {
  auto* out = reinterpret_cast<Line*>(to);
  const auto* in = reinterpret_cast<const Line*>(from);
  const Lines all(count);
  for (uint64_t i = 0; i < all.in_blocks; i += kBlock) {
    const Line a = in[i], b = in[i + 1], c = in[i + 2], d = in[i + 3];
    out[i] = a;
    out[i + 1] = b;
    out[i + 2] = c;
    out[i + 3] = d;
  }
  for (uint64_t i = all.in_blocks; i < all.whole; ++i) out[i] = in[i];
  for (uint64_t i = all.whole * kWords; i < count; ++i) to[i] = from[i];
}

#if defined(__x86_64__)

namespace {

// Streaming stores of each width that there is. A line's parts follow one another, so that the
// write-combining buffer leaves as a whole.
__attribute__((target("avx512f"))) void write_avx512(uint32_t* words, uint64_t lines,
                                                     uint32_t pattern) {
  const __m512i value = _mm512_set1_epi32(int(pattern));
  for (uint64_t i = 0; i < lines; ++i)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(words) + i, value);
}

__attribute__((target("avx2"))) void write_avx2(uint32_t* words, uint64_t lines,
                                                uint32_t pattern) {
  const __m256i value = _mm256_set1_epi32(int(pattern));
  for (uint64_t i = 0; i < 2 * lines; ++i)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(words) + i, value);
}

void write_sse2(uint32_t* words, uint64_t lines, uint32_t pattern) {
  const __m128i value = _mm_set1_epi32(int(pattern));
  for (uint64_t i = 0; i < 4 * lines; ++i)
    _mm_stream_si128(reinterpret_cast<__m128i*>(words) + i, value);
}

__attribute__((target("avx512f"))) void copy_avx512(uint32_t* to, const uint32_t* from,
                                                    uint64_t lines) {
  for (uint64_t i = 0; i < lines; ++i)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to) + i,
                        _mm512_load_si512(reinterpret_cast<const __m512i*>(from) + i));
}

__attribute__((target("avx2"))) void copy_avx2(uint32_t* to, const uint32_t* from,
                                               uint64_t lines) {
  auto* out = reinterpret_cast<__m256i*>(to);
  const auto* in = reinterpret_cast<const __m256i*>(from);
  for (uint64_t i = 0; i < 2 * lines; i += 2) {
    const __m256i low = _mm256_load_si256(in + i), high = _mm256_load_si256(in + i + 1);
    _mm256_stream_si256(out + i, low);
    _mm256_stream_si256(out + i + 1, high);
  }
}

void copy_sse2(uint32_t* to, const uint32_t* from, uint64_t lines) {
  for (uint64_t i = 0; i < 4 * lines; ++i)
    _mm_stream_si128(reinterpret_cast<__m128i*>(to) + i,
                     _mm_load_si128(reinterpret_cast<const __m128i*>(from) + i));
}

}  // namespace

void write_words_nontemporal(uint32_t* words, uint64_t count, uint32_t pattern) {
  const Lines all(count);
  (isa().avx512 ? write_avx512 : isa().avx2 ? write_avx2 : write_sse2)(words, all.whole, pattern);
  for (uint64_t i = all.whole * kWords; i < count; ++i) words[i] = pattern;
  _mm_sfence();
}

void copy_words_nontemporal(uint32_t* to, const uint32_t* from, uint64_t count) {
  const Lines all(count);
  (isa().avx512 ? copy_avx512 : isa().avx2 ? copy_avx2 : copy_sse2)(to, from, all.whole);
  for (uint64_t i = all.whole * kWords; i < count; ++i) to[i] = from[i];
  _mm_sfence();
}

#else

// Elsewhere the processor decides by itself when to write past its caches.
void write_words_nontemporal(uint32_t* words, uint64_t count, uint32_t pattern) {
  write_words(words, count, pattern);
}
void copy_words_nontemporal(uint32_t* to, const uint32_t* from, uint64_t count) {
  copy_words(to, from, count);
}

#endif

}  // namespace deepbench::cpu
