// Adds up rows of float and bfloat16 in float.
#include "ops/embedding/row_loops.hpp"

#include <cstring>

#include "deepbench/backend/vector_clones.hpp"

namespace deepbench::cpu {
namespace {

DEEPBENCH_VECTOR_CLONES void add_float(float* __restrict to, const float* __restrict row,
                                       int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += row[i];
}

DEEPBENCH_VECTOR_CLONES void add_bfloat16(float* __restrict to, const uint16_t* __restrict row,
                                          int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += deepbench_from_bfloat16(row[i]);
}

// Rounds to nearest, ties to even; sums of finite rows are finite.
DEEPBENCH_VECTOR_CLONES void store_bfloat16(uint16_t* __restrict to, const float* __restrict sums,
                                            int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t bits = deepbench_float_bits(sums[i]);
    to[i] = static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
  }
}

}  // namespace

void add_row(float* to, const void* row, deepbench_type type, int64_t count) {
  if (type == DEEPBENCH_F32) return add_float(to, static_cast<const float*>(row), count);
  add_bfloat16(to, static_cast<const uint16_t*>(row), count);
}

void store_row(void* to, const float* sums, deepbench_type type, int64_t count) {
  if (type != DEEPBENCH_F32) return store_bfloat16(static_cast<uint16_t*>(to), sums, count);
  std::memcpy(to, sums, size_t(count) * sizeof(float));
}

}  // namespace deepbench::cpu
