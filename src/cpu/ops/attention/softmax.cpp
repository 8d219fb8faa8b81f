// Loops over the elements of a row, compiled for several vector units.
#include "ops/attention/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "deepbench/backend/vector_clones.hpp"
#include "exp2.hpp"

namespace deepbench::cpu {
namespace {

// The source fixes the order of lanes in reductions; compilers split a vector of this width into
// several of narrower units.
constexpr int64_t kLanes = 16;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

DEEPBENCH_VECTOR_INLINED inline void load(const float* from, Lanes& to) {
  std::memcpy(&to, from, sizeof to);
}

DEEPBENCH_VECTOR_CLONES float largest_of(const float* values, int64_t count) {
  float largest = values[0];
  int64_t i = 0;
  if (count >= kLanes) {
    Lanes lanes, next;
    load(values, lanes);
    for (i = kLanes; i + kLanes <= count; i += kLanes) {
      load(values + i, next);
      lanes = next > lanes ? next : lanes;
    }
    for (int64_t lane = 0; lane < kLanes; ++lane) largest = std::max(largest, lanes[lane]);
  }
  for (; i < count; ++i) largest = std::max(largest, values[i]);
  return largest;
}

DEEPBENCH_VECTOR_CLONES float sum_of(const float* values, int64_t count) {
  Lanes lanes = {}, next;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    load(values + i, next);
    lanes += next;
  }
  float sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  for (; i < count; ++i) sum += values[i];
  return sum;
}

DEEPBENCH_VECTOR_CLONES void exponentiate(float* values, int64_t count, float largest,
                                          float factor) {
  for (int64_t i = 0; i < count; ++i)
    values[i] = exp2_of_nonpositive((values[i] - largest) * factor);
}

DEEPBENCH_VECTOR_CLONES void store_floats(const float* values, int64_t count, float factor,
                                          float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = values[i] * factor;
}

// Rounds to nearest, ties to even. Values are finite, so that other cases need no code.
DEEPBENCH_VECTOR_CLONES void store_bfloat16s(const float* values, int64_t count, float factor,
                                             uint16_t* __restrict to) {
  for (int64_t i = 0; i < count; ++i) {
    const float weight = values[i] * factor;
    uint32_t bits;
    std::memcpy(&bits, &weight, sizeof bits);
    to[i] = uint16_t((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

// A half has three exponent bits and 13 fraction bits fewer than a float. Its smallest normal
// number is 2^-14, whose last place is 2^-24. Values lie in its range.
DEEPBENCH_VECTOR_CLONES void store_halves(const float* values, int64_t count, float factor,
                                          uint16_t* __restrict to) {
  constexpr float kSmallestNormal = 1.0f / (1 << 14), kRounding = 0.5f;
  constexpr uint32_t kSign = 1u << 31;
  for (int64_t i = 0; i < count; ++i) {
    const float value = values[i] * factor;
    uint32_t bits, subnormal;
    std::memcpy(&bits, &value, sizeof bits);
    const uint32_t sign = bits & kSign;
    bits ^= sign;
    float magnitude;
    std::memcpy(&magnitude, &bits, sizeof magnitude);
    const float lifted = magnitude + kRounding;  // its last place is 2^-24
    std::memcpy(&subnormal, &lifted, sizeof subnormal);
    const uint32_t normal = ((bits + 0xfff + ((bits >> 13) & 1)) >> 13) - (112u << 10);
    to[i] = uint16_t((magnitude < kSmallestNormal ? subnormal & 0xffff : normal) | sign >> 16);
  }
}

void store(const float* values, int64_t count, float factor, deepbench_type type, void* to) {
  if (type == DEEPBENCH_F32) return store_floats(values, count, factor, static_cast<float*>(to));
  if (type == DEEPBENCH_BF16)
    return store_bfloat16s(values, count, factor, static_cast<uint16_t*>(to));
  store_halves(values, count, factor, static_cast<uint16_t*>(to));
}

// Computes values[i] = factor weights[i] (values[i] - d).
DEEPBENCH_VECTOR_CLONES void differentiate(const float* weights, int64_t count, float d,
                                           float factor, float* values) {
  for (int64_t i = 0; i < count; ++i) values[i] = factor * weights[i] * (values[i] - d);
}

DEEPBENCH_VECTOR_CLONES void widen_bfloat16s(const uint16_t* from, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = deepbench_from_bfloat16(from[i]);
}

// The bits of a half without its sign are those of a float whose exponent is too small by 112.
DEEPBENCH_VECTOR_CLONES void widen_halves(const uint16_t* from, int64_t count, float* to) {
  constexpr float kExponent = 5.192296858534828e33f;  // 2^112
  for (int64_t i = 0; i < count; ++i) {
    const uint32_t magnitude = uint32_t(from[i] & 0x7fff) << 13, sign = uint32_t(from[i] >> 15)
                                                                        << 31;
    float value;
    std::memcpy(&value, &magnitude, sizeof value);
    value *= kExponent;
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    bits |= sign;
    std::memcpy(to + i, &bits, sizeof bits);
  }
}

DEEPBENCH_VECTOR_CLONES float sum_of_float_products(const float* a, const float* b, int64_t count) {
  Lanes lanes = {}, x, y;
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    load(a + i, x);
    load(b + i, y);
    lanes += x * y;
  }
  float sum = 0;
  for (int64_t lane = 0; lane < kLanes; ++lane) sum += lanes[lane];
  for (; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void widen(const uint16_t* from, int64_t count, deepbench_type type, float* to) {
  type == DEEPBENCH_BF16 ? widen_bfloat16s(from, count, to) : widen_halves(from, count, to);
}

// `values` belong to the keys that the query sees.
void store_row(const ScoreRow& row, const float* values, float factor, deepbench_type type,
               void* to) {
  const auto size = size_t(type == DEEPBENCH_F32 ? sizeof(float) : sizeof(uint16_t));
  auto* const bytes = static_cast<char*>(to);
  store(values, row.end - row.begin, factor, type, bytes + size_t(row.begin) * size);
  std::memset(bytes, 0, size_t(row.begin) * size);
  std::memset(bytes + size_t(row.end) * size, 0, size_t(row.keys - row.end) * size);
}

constexpr float kLog2E = 1.442695041f;

}  // namespace

float write_weights(const ScoreRow& row, float scale, float sink, deepbench_type type,
                    void* weights) {
  const int64_t count = row.end - row.begin;
  float* const seen = row.scores + row.begin;
  if (count == 0) {
    store_row(row, seen, 1, type, weights);
    return sink;
  }
  const float sink_score = sink / scale;
  const float largest = std::max(largest_of(seen, count), sink_score);
  exponentiate(seen, count, largest, scale * kLog2E);
  float sum = sum_of(seen, count);
  if (sink != kNoSink) sum += exp2_of_nonpositive((sink_score - largest) * scale * kLog2E);
  store_row(row, seen, 1 / sum, type, weights);
  return scale * largest + std::log(sum);
}

void write_gradients(const ScoreRow& row, const GradientOfRow& of, float scale, deepbench_type type,
                     void* weights, void* gradients) {
  const int64_t count = row.end - row.begin;
  float* const seen = row.scores + row.begin;
  float* const products = of.products + row.begin;
  if (count > 0) {
    exponentiate(seen, count, of.log_sum / scale, scale * kLog2E);
    differentiate(seen, count, of.d, scale, products);
  }
  store_row(row, seen, 1, type, weights);
  store_row(row, products, 1, type, gradients);
}

void store_as(const float* values, int64_t count, deepbench_type type, void* to) {
  store(values, count, 1, type, to);
}

float sum_of_products(const void* a, const void* b, int64_t count, deepbench_type type) {
  if (type == DEEPBENCH_F32)
    return sum_of_float_products(static_cast<const float*>(a), static_cast<const float*>(b), count);
  constexpr int64_t kChunk = 256;
  float wide_a[kChunk], wide_b[kChunk], sum = 0;
  for (int64_t i = 0; i < count; i += kChunk) {
    const int64_t some = std::min(kChunk, count - i);
    widen(static_cast<const uint16_t*>(a) + i, some, type, wide_a);
    widen(static_cast<const uint16_t*>(b) + i, some, type, wide_b);
    sum += sum_of_float_products(wide_a, wide_b, some);
  }
  return sum;
}

}  // namespace deepbench::cpu
