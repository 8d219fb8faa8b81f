// Loops over operands, one for each storage type. The loops that large problems spend their time in
// are compiled for every vector unit.
#include "operand.hpp"

#include <cstring>
#include <limits>
#include <vector>

#include "deepbench/backend/bit_patterns.hpp"
#include "deepbench/core/precision.hpp"
#include "deepbench/plugin.hpp"
#include "isa.hpp"
#include "projection.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

using plugin::bits_of_one;
using plugin::non_finite_mask;
using plugin::poison_bits;

// elements; for fewer, waking the workers takes longer than the loop
constexpr uint64_t kGrain = 1 << 15;

// ---- filling ----------------------------------------------------------------------------------

struct FillRange {
  uint64_t begin, end, seed;
  uint32_t stream;
};

DEEPBENCH_CPU_CLONES void fill_f32(float* out, const FillRange r) {
  for (uint64_t i = r.begin; i < r.end; ++i) out[i] = deepbench_uniform(r.seed, r.stream, i);
}

DEEPBENCH_CPU_CLONES void fill_bfloat16(uint16_t* out, const FillRange r) {
  for (uint64_t i = r.begin; i < r.end; ++i)
    out[i] = deepbench_to_bfloat16(deepbench_uniform(r.seed, r.stream, i));
}

DEEPBENCH_CPU_CLONES void fill_floats_of_bfloat16(float* out, const FillRange r) {
  for (uint64_t i = r.begin; i < r.end; ++i)
    out[i] = deepbench_from_bfloat16(deepbench_to_bfloat16(deepbench_uniform(r.seed, r.stream, i)));
}

DEEPBENCH_CPU_CLONES void fill_bytes(uint8_t* out, deepbench_type type, const FillRange r) {
  const uint32_t shift = type == DEEPBENCH_S7 ? 25 : 24;
  const uint32_t offset = type == DEEPBENCH_U8 ? 0 : type == DEEPBENCH_S7 ? 64 : 128;
  for (uint64_t i = r.begin; i < r.end; ++i) {  // deepbench_integer() without its switch
    const auto top = static_cast<uint32_t>(deepbench_bits(r.seed, r.stream, i) >> 32);
    out[i] = static_cast<uint8_t>((top >> shift) - offset);
  }
}

template <class Store>
void fill_as(void* data, const FillRange& r, Store store) {
  auto* out = static_cast<decltype(store(uint64_t{}))*>(data);
  for (uint64_t i = r.begin; i < r.end; ++i) out[i] = store(i);
}

// Stores value(i) in each element i of the range, as a floating-point type.
template <class Value>
void fill_with(void* data, deepbench_type type, const FillRange& r, Value value) {
  switch (type) {
    case DEEPBENCH_F64:
      return fill_as(data, r, [&](uint64_t i) { return double(value(i)); });
    case DEEPBENCH_F16:
      return fill_as(data, r, [&](uint64_t i) { return deepbench_to_half(value(i)); });
    case DEEPBENCH_BF16:
      return fill_as(data, r, [&](uint64_t i) { return deepbench_to_bfloat16(value(i)); });
    case DEEPBENCH_E4M3:
      return fill_as(data, r, [&](uint64_t i) { return deepbench_to_e4m3(value(i)); });
    case DEEPBENCH_E5M2:
      return fill_as(data, r, [&](uint64_t i) { return deepbench_to_e5m2(value(i)); });
    default:
      return fill_as(data, r, [&](uint64_t i) { return float(value(i)); });
  }
}

void fill_range(void* data, deepbench_type type, const FillRange& r) {
  switch (type) {
    case DEEPBENCH_F32:
      return fill_f32(static_cast<float*>(data), r);
    case DEEPBENCH_BF16:
      return fill_bfloat16(static_cast<uint16_t*>(data), r);
    case DEEPBENCH_S32:
      return fill_as(data, r,
                     [&](uint64_t i) { return deepbench_integer(type, r.seed, r.stream, i); });
    case DEEPBENCH_S8:
    case DEEPBENCH_U8:
    case DEEPBENCH_S7:
      return fill_bytes(static_cast<uint8_t*>(data), type, r);
    default:
      return fill_with(data, type, r,
                       [&](uint64_t i) { return deepbench_uniform(r.seed, r.stream, i); });
  }
}

// ---- one bit pattern everywhere ---------------------------------------------------------------

// Calls body with a null pointer to the unsigned word that stores an element of the type.
template <class Body>
auto with_word_type(deepbench_type type, Body body) {
  switch (size_of(type)) {
    case 8:
      return body(static_cast<uint64_t*>(nullptr));
    case 4:
      return body(static_cast<uint32_t*>(nullptr));
    case 2:
      return body(static_cast<uint16_t*>(nullptr));
    default:
      return body(static_cast<uint8_t*>(nullptr));
  }
}

void fill_with_bits(void* data, deepbench_type type, uint64_t count, uint64_t bits) {
  with_word_type(type, [&](auto* word) {
    using Word = std::remove_pointer_t<decltype(word)>;
    auto* out = static_cast<Word*>(data);
    host_workers().parallel_for(count, kGrain, [&](uint64_t begin, uint64_t end, size_t) {
      std::fill(out + begin, out + end, static_cast<Word>(bits));
    });
  });
}

// ---- scanning ---------------------------------------------------------------------------------

struct PoisonMarks {
  uint64_t poison, mask;
};

struct ScanCounts {
  uint64_t untouched = 0, non_finite = 0;
};

template <class Word>
inline __attribute__((always_inline)) ScanCounts scan_loop(const Word* data, const Word* restored,
                                                           uint64_t begin, uint64_t end,
                                                           PoisonMarks marks) {
  // keeps the inner counters within 32 bits, which vectorise better
  constexpr uint64_t kBlock = 1 << 14;
  const auto poison = static_cast<Word>(marks.poison), mask = static_cast<Word>(marks.mask);
  ScanCounts total;
  for (uint64_t first = begin; first < end; first += kBlock) {
    const uint64_t last = first + kBlock < end ? first + kBlock : end;
    uint32_t untouched = 0, non_finite = 0;
    for (uint64_t i = first; i < last; ++i) {
      const Word word = data[i];
      const bool same = word == (restored ? restored[i] : poison);
      untouched += same;
      non_finite += mask != 0 && (word & mask) == mask && !same;
    }
    total.untouched += untouched, total.non_finite += non_finite;
  }
  return total;
}

DEEPBENCH_CPU_CLONES ScanCounts scan_words(const uint32_t* data, const uint32_t* restored,
                                           uint64_t begin, uint64_t end, PoisonMarks marks) {
  if (!restored) return scan_loop<uint32_t>(data, nullptr, begin, end, marks);
  return scan_loop(data, restored, begin, end, marks);
}

DEEPBENCH_CPU_CLONES ScanCounts scan_words(const uint16_t* data, const uint16_t* restored,
                                           uint64_t begin, uint64_t end, PoisonMarks marks) {
  if (!restored) return scan_loop<uint16_t>(data, nullptr, begin, end, marks);
  return scan_loop(data, restored, begin, end, marks);
}

template <class Word>
ScanCounts scan_words(const Word* data, const Word* restored, uint64_t begin, uint64_t end,
                      PoisonMarks marks) {
  return scan_loop(data, restored, begin, end, marks);
}

// ---- projecting -------------------------------------------------------------------------------

DEEPBENCH_CPU_CLONES void project_f32(const float* data, const OutputBlock& block, uint64_t rows,
                                      uint64_t seed, double* sums) {
  add_block(block, rows, seed, sums, [=](uint64_t i) { return double(data[i]); });
}

DEEPBENCH_CPU_CLONES void project_s32(const int32_t* data, const OutputBlock& block, uint64_t rows,
                                      uint64_t seed, double* sums) {
  add_block(block, rows, seed, sums, [=](uint64_t i) { return double(data[i]); });
}

DEEPBENCH_CPU_CLONES void project_bfloat16(const uint16_t* data, const OutputBlock& block,
                                           uint64_t rows, uint64_t seed, double* sums) {
  add_block(block, rows, seed, sums,
            [=](uint64_t i) { return double(deepbench_from_bfloat16(data[i])); });
}

}  // namespace

void fill(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
          uint32_t stream) {
  if (inputs != Inputs::kUniform)
    return fill_with_bits(data, type, count, inputs == Inputs::kOnes ? bits_of_one(type) : 0);
  host_workers().parallel_for(count, kGrain, [&](uint64_t begin, uint64_t end, size_t) {
    fill_range(data, type, FillRange{begin, end, seed, stream});
  });
}

void fill_floats(float* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream) {
  if (inputs != Inputs::kUniform) return fill(data, DEEPBENCH_F32, count, inputs, seed, stream);
  host_workers().parallel_for(count, kGrain, [&](uint64_t begin, uint64_t end, size_t) {
    const FillRange range{begin, end, seed, stream};
    if (type == DEEPBENCH_BF16) return fill_floats_of_bfloat16(data, range);
    fill_as(data, range,
            [&](uint64_t i) { return float(deepbench_element(type, seed, stream, i)); });
  });
}

void fill_integers(void* data, deepbench_type type, uint64_t count,
                   deepbench_small_integers integers, uint64_t seed, uint32_t stream) {
  host_workers().parallel_for(count, kGrain, [&](uint64_t begin, uint64_t end, size_t) {
    fill_with(data, type, FillRange{begin, end, seed, stream}, [&](uint64_t i) {
      return float(deepbench_small_integer(integers, seed, stream, i));
    });
  });
}

void poison(void* data, deepbench_type type, uint64_t count) {
  fill_with_bits(data, type, count, poison_bits(type));
}

deepbench_scan scan(const void* data, deepbench_type type, uint64_t count, const void* restored) {
  std::vector<ScanCounts> parts(host_workers().size());
  const PoisonMarks marks = {poison_bits(type), non_finite_mask(type)};
  with_word_type(type, [&](auto* word) {
    using Word = std::remove_pointer_t<decltype(word)>;
    const auto* words = static_cast<const Word*>(data);
    const auto* before = static_cast<const Word*>(restored);
    host_workers().parallel_for(count, kGrain, [&](uint64_t begin, uint64_t end, size_t worker) {
      parts[worker] = scan_words(words, before, begin, end, marks);
    });
  });
  deepbench_scan total = {sizeof(deepbench_scan), count, 0, 0};
  for (const ScanCounts& part : parts)
    total.untouched += part.untouched, total.non_finite += part.non_finite;
  return total;
}

void project(const void* data, deepbench_type type, uint64_t count, uint64_t rows, uint64_t seed,
             double* sums) {
  project_blocks(count, rows, sums, [&](const OutputBlock& block, double* into) {
    switch (type) {
      case DEEPBENCH_F32:
        return project_f32(static_cast<const float*>(data), block, rows, seed, into);
      case DEEPBENCH_S32:
        return project_s32(static_cast<const int32_t*>(data), block, rows, seed, into);
      case DEEPBENCH_BF16:
        return project_bfloat16(static_cast<const uint16_t*>(data), block, rows, seed, into);
      default:
        return add_block(block, rows, seed, into,
                         [&](uint64_t index) { return element(data, type, index); });
    }
  });
}

double element(const void* data, deepbench_type type, uint64_t index) {
  switch (type) {
    case DEEPBENCH_F64:
      return static_cast<const double*>(data)[index];
    case DEEPBENCH_F32:
      return static_cast<const float*>(data)[index];
    case DEEPBENCH_F16:
      return deepbench_from_half(static_cast<const uint16_t*>(data)[index]);
    case DEEPBENCH_BF16:
      return deepbench_from_bfloat16(static_cast<const uint16_t*>(data)[index]);
    case DEEPBENCH_E4M3:
      return deepbench_from_e4m3(static_cast<const uint8_t*>(data)[index]);
    case DEEPBENCH_E5M2:
      return deepbench_from_e5m2(static_cast<const uint8_t*>(data)[index]);
    case DEEPBENCH_S32:
      return static_cast<const int32_t*>(data)[index];
    case DEEPBENCH_U8:
      return static_cast<const uint8_t*>(data)[index];
    case DEEPBENCH_S8:
    case DEEPBENCH_S7:
      return static_cast<const int8_t*>(data)[index];
  }
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace deepbench::cpu
