// Memory transfers: the typed problem. Header-only, for the core and for backends.
//
// The data are 32-bit words. All of them are even, so that none equals the poison, which is odd.
// `bytes` is the size of one buffer, a multiple of 4.
//   read   reads every word; the output is one word, the xor of all
//   write  stores the word write_pattern(seed) everywhere; the output is the buffer
//   copy   copies one buffer to another within the device; the output is the destination
//   exchange  makes kExchangeSteps steps, which no thread begins before all have finished the one
//             before: each writes every word of a buffer from the word of the step before that is
//             exchange_shift() places further on; the output is the last buffer
//   h2d    copies from host to device, d2h from device to host; the output is the destination
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/fill.h"

namespace deepbench {

enum class MemoryKind { kRead, kWrite, kCopy, kExchange, kHostToDevice, kDeviceToHost };

struct Memory {
  MemoryKind kind = MemoryKind::kCopy;
  int64_t bytes = 0;
  // Only for an exchange: the bytes that every step reads besides, as a recurrent layer reads its
  // weights. How close together the threads are that exchange words depends on where this many
  // bytes fit.
  int64_t weights = 0;

  static constexpr uint32_t kStream = 0;
  int64_t words() const { return bytes / 4; }
  int64_t output_words() const { return kind == MemoryKind::kRead ? 1 : words(); }
  // Large enough for the start of a call to be negligible.
  static constexpr int64_t kExchangeSteps = 64;
  int64_t steps() const { return kind == MemoryKind::kExchange ? kExchangeSteps : 0; }
  // The distance of an exchange, which is more than half of the buffer, so that a thread reads
  // words that other threads wrote.
  int64_t exchange_shift() const { return (words() / 2 + 1) % words(); }
  // The place in the source from which a word of the output comes.
  uint64_t source_of(uint64_t index) const {
    const auto count = uint64_t(words());
    return (index + uint64_t(steps()) * uint64_t(exchange_shift())) % count;
  }
  // Bytes that cross the memory interface; a copy reads and writes.
  double traffic() const {
    if (kind == MemoryKind::kExchange) return 2.0 * double(bytes) * double(kExchangeSteps);
    return (kind == MemoryKind::kCopy ? 2.0 : 1.0) * double(bytes);
  }
};

inline uint32_t memory_word(uint64_t seed, uint64_t index) {
  return static_cast<uint32_t>(deepbench_bits(seed, Memory::kStream, index) >> 32) & ~1u;
}

inline uint32_t write_pattern(uint64_t seed) { return memory_word(seed, ~uint64_t{0}) | 2u; }

template <class Attributes>
Memory memory_problem(const Attributes& attributes) {
  const std::string kind = attributes.text("kind");
  Memory memory;
  memory.bytes = attributes.integer("bytes");
  memory.weights = attributes.integer("weights");  // 0 if it is absent
  memory.kind = kind == "read"       ? MemoryKind::kRead
                : kind == "write"    ? MemoryKind::kWrite
                : kind == "exchange" ? MemoryKind::kExchange
                : kind == "h2d"      ? MemoryKind::kHostToDevice
                : kind == "d2h"      ? MemoryKind::kDeviceToHost
                                     : MemoryKind::kCopy;
  return memory;
}

}  // namespace deepbench
