// Sums and products of sizes in bytes that saturate at the largest number instead of overflowing,
// so that the memory requirement of any problem can be compared. Header-only, for backends.
#pragma once

#include <cstdint>
#include <limits>

namespace deepbench::plugin {

inline uint64_t saturating_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<uint64_t>::max() : sum;
}

inline uint64_t saturating_multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<uint64_t>::max() : product;
}

}  // namespace deepbench::plugin
