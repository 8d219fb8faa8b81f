// Fills operands in host memory with the values of fill.h, and poisons them. Header-only, for
// backends; host_elements.hpp defines `Workers`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "deepbench/backend/bit_patterns.hpp"
#include "deepbench/backend/host_elements.hpp"
#include "deepbench/backend/inputs.hpp"
#include "deepbench/backend/vector_clones.hpp"
#include "deepbench/fill.h"

namespace deepbench::plugin {

struct FillRange {
  uint64_t begin, end, seed;
  uint32_t stream;
};

DEEPBENCH_VECTOR_CLONES inline void fill_f32(float* out, const FillRange r) {
  for (uint64_t i = r.begin; i < r.end; ++i) out[i] = deepbench_uniform(r.seed, r.stream, i);
}

DEEPBENCH_VECTOR_CLONES inline void fill_bfloat16(uint16_t* out, const FillRange r) {
  for (uint64_t i = r.begin; i < r.end; ++i)
    out[i] = deepbench_to_bfloat16(deepbench_uniform(r.seed, r.stream, i));
}

DEEPBENCH_VECTOR_CLONES inline void fill_floats_of_bfloat16(float* out, const FillRange r) {
  for (uint64_t i = r.begin; i < r.end; ++i)
    out[i] = deepbench_from_bfloat16(deepbench_to_bfloat16(deepbench_uniform(r.seed, r.stream, i)));
}

DEEPBENCH_VECTOR_CLONES inline void fill_bytes(uint8_t* out, deepbench_type type,
                                               const FillRange r) {
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

inline void fill_range(void* data, deepbench_type type, const FillRange& r) {
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

// Calls each(begin, end) for pieces of the parts, on all workers.
template <class Workers, class Each>
void for_parts(Workers& workers, const std::vector<ElementRange>& parts, const Each& each) {
  std::vector<uint64_t> ends;  // ends of the parts if they were consecutive
  uint64_t all = 0;
  for (const ElementRange& part : parts) ends.push_back(all += part.end - part.begin);
  workers.parallel_for(all, kHostGrain, [&](uint64_t begin, uint64_t end, size_t) {
    auto i = size_t(std::upper_bound(ends.begin(), ends.end(), begin) - ends.begin());
    for (; begin < end; ++i) {
      const uint64_t first = parts[i].end - (ends[i] - begin);
      const uint64_t count = std::min(end, ends[i]) - begin;
      each(first, first + count);
      begin += count;
    }
  });
}

// Stores the same bit pattern in every element of the parts.
template <class Workers>
void fill_with_bits(Workers& workers, void* data, deepbench_type type,
                    const std::vector<ElementRange>& parts, uint64_t bits) {
  with_word_type(type, [&](auto* word) {
    using Word = std::remove_pointer_t<decltype(word)>;
    auto* out = static_cast<Word*>(data);
    for_parts(workers, parts, [&](uint64_t begin, uint64_t end) {
      std::fill(out + begin, out + end, static_cast<Word>(bits));
    });
  });
}

// Sets data[i] to element i of operand `stream`, stored as `type`, for all i of the parts.
template <class Workers>
void fill_parts(Workers& workers, void* data, deepbench_type type,
                const std::vector<ElementRange>& parts, Inputs inputs, uint64_t seed,
                uint32_t stream) {
  if (inputs != Inputs::kUniform)
    return fill_with_bits(workers, data, type, parts,
                          inputs == Inputs::kOnes ? bits_of_one(type) : 0);
  for_parts(workers, parts, [&](uint64_t begin, uint64_t end) {
    fill_range(data, type, FillRange{begin, end, seed, stream});
  });
}

// Does the same for all elements.
template <class Workers>
void fill(Workers& workers, void* data, deepbench_type type, uint64_t count, Inputs inputs,
          uint64_t seed, uint32_t stream) {
  fill_parts(workers, data, type, {{0, count}}, inputs, seed, stream);
}

// Stores the same values as floats: data[i] is element i of operand `stream` after rounding to half
// or bfloat16.
template <class Workers>
void fill_floats(Workers& workers, float* data, deepbench_type type, uint64_t count, Inputs inputs,
                 uint64_t seed, uint32_t stream) {
  if (inputs != Inputs::kUniform)
    return fill(workers, data, DEEPBENCH_F32, count, inputs, seed, stream);
  workers.parallel_for(count, kHostGrain, [&](uint64_t begin, uint64_t end, size_t) {
    const FillRange range{begin, end, seed, stream};
    if (type == DEEPBENCH_BF16) return fill_floats_of_bfloat16(data, range);
    fill_as(data, range,
            [&](uint64_t i) { return float(deepbench_element(type, seed, stream, i)); });
  });
}

// Sets data[i] to the small integer i of operand `stream`, stored as the floating-point `type`, for
// all i of the parts.
template <class Workers>
void fill_parts_with_integers(Workers& workers, void* data, deepbench_type type,
                              const std::vector<ElementRange>& parts,
                              deepbench_small_integers integers, uint64_t seed, uint32_t stream) {
  for_parts(workers, parts, [&](uint64_t begin, uint64_t end) {
    fill_with(data, type, FillRange{begin, end, seed, stream}, [&](uint64_t i) {
      return float(deepbench_small_integer(integers, seed, stream, i));
    });
  });
}

// Does the same for all elements.
template <class Workers>
void fill_integers(Workers& workers, void* data, deepbench_type type, uint64_t count,
                   deepbench_small_integers integers, uint64_t seed, uint32_t stream) {
  fill_parts_with_integers(workers, data, type, {{0, count}}, integers, seed, stream);
}

// Multiplies the elements of a floating-point type by a power of two.
template <class Workers>
void scale(Workers& workers, void* data, deepbench_type type, uint64_t count, float factor) {
  workers.parallel_for(count, kHostGrain, [&](uint64_t begin, uint64_t end, size_t) {
    fill_with(data, type, FillRange{begin, end, 0, 0},
              [&](uint64_t i) { return factor * float(element(data, type, i)); });
  });
}

// Sets every element to the poison of its type (bit_patterns.hpp).
template <class Workers>
void poison(Workers& workers, void* data, deepbench_type type, uint64_t count) {
  fill_with_bits(workers, data, type, {{0, count}}, poison_bits(type));
}

}  // namespace deepbench::plugin
