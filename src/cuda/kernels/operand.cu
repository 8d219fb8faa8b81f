// Kernels on whole operands: they fill an operand with the values of fill.h or with one bit
// pattern, scale it, scan every element, and read selected elements. Operands may have any strides;
// operand.cpp computes the layout of the launch.
#include "element.h"

namespace {

// Calls body(offset in memory, index within the operand) for the elements of this thread.
template <class Body>
__device__ void for_each(const StridedLayout& layout, Body body) {
  const uint64_t across = uint64_t(gridDim.x) * blockDim.x;
  const uint64_t down = uint64_t(gridDim.y) * blockDim.y;
  const uint64_t lines = layout.middle * layout.outer;
  for (uint64_t line = uint64_t(blockIdx.y) * blockDim.y + threadIdx.y; line < lines;
       line += down) {
    const uint64_t z = layout.outer == 1 ? 0 : line / layout.middle, y = line - z * layout.middle;
    const uint64_t offset = y * layout.middle_stride + z * layout.outer_stride;
    const uint64_t index = y * layout.middle_step + z * layout.outer_step;
    for (uint64_t x = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; x < layout.inner;
         x += across)
      body(x * layout.inner_stride + offset, x * layout.inner_step + index);
  }
}

__device__ uint64_t first_of_thread() { return blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; }
__device__ uint64_t all_threads() { return gridDim.x * uint64_t(blockDim.x); }

template <class E, class Round>
__device__ void scale_narrow(void* data, uint64_t count, float scale, Round round) {
  auto* const words = static_cast<uint16_t*>(data);
  for (uint64_t i = first_of_thread(); i < count; i += all_threads())
    words[i] = round(scale * float(E::value(words[i])));
}

}  // namespace

extern "C" __global__ void fill_elements(void* data, int32_t type, StridedLayout layout,
                                         uint64_t seed, uint32_t operand) {
  with_element(type, [&](auto element) {
    using E = decltype(element);
    auto* const out = static_cast<typename E::Word*>(data);
    for_each(layout, [&](uint64_t offset, uint64_t index) {
      out[offset] = E::generated_word(seed, operand, index);
    });
  });
}

extern "C" __global__ void fill_integers(void* data, int32_t type, StridedLayout layout,
                                         deepbench_small_integers integers, uint64_t seed,
                                         uint32_t operand) {
  with_element(type, [&](auto element) {
    using E = decltype(element);
    auto* const out = static_cast<typename E::Word*>(data);
    for_each(layout, [&](uint64_t offset, uint64_t index) {
      out[offset] = E::code(deepbench_small_integer(integers, seed, operand, index));
    });
  });
}

extern "C" __global__ void set_elements(void* data, uint32_t bytes, StridedLayout layout,
                                        uint64_t bits) {
  with_word_type(bytes, [&](auto word) {
    using Word = decltype(word);
    auto* const out = static_cast<Word*>(data);
    for_each(layout, [&](uint64_t offset, uint64_t) { out[offset] = Word(bits); });
  });
}

// Multiplies the elements of an array by a power of two. Subnormals of fp16 are rounded.
extern "C" __global__ void scale_elements(void* data, int32_t type, uint64_t count, float scale) {
  if (type == DEEPBENCH_F16)
    return scale_narrow<Element<DEEPBENCH_F16>>(data, count, scale,
                                                [](float v) { return deepbench_to_half(v); });
  if (type == DEEPBENCH_BF16)
    return scale_narrow<Element<DEEPBENCH_BF16>>(data, count, scale,
                                                 [](float v) { return deepbench_to_bfloat16(v); });
  auto* const words = static_cast<float*>(data);
  for (uint64_t i = first_of_thread(); i < count; i += all_threads()) words[i] *= scale;
}

// An element counts as untouched if it equals the poison or, if `restored` is given, the element of
// `restored` at the same offset. An element counts as non-finite if `mask` is not 0 and all bits of
// the mask are set.
extern "C" __global__ void scan_elements(const void* data, const void* restored, uint32_t bytes,
                                         StridedLayout layout, uint64_t poison, uint64_t mask,
                                         ScanCounts* found) {
  uint64_t counts[2] = {0, 0};
  with_word_type(bytes, [&](auto zero) {
    using Word = decltype(zero);
    const auto* const words = static_cast<const Word*>(data);
    const auto* const before = static_cast<const Word*>(restored);
    for_each(layout, [&](uint64_t offset, uint64_t) {
      const Word word = words[offset];
      const bool same = word == (before ? before[offset] : Word(poison));
      counts[0] += same;
      counts[1] += mask != 0 && (word & Word(mask)) == Word(mask) && !same;
    });
  });
  const uint32_t thread = thread_of_block();
  sum_over_block(counts, thread, OPERAND_THREADS, 1);
  if (thread == 0)
    found[blockIdx.x + uint64_t(blockIdx.y) * gridDim.x] = ScanCounts{counts[0], counts[1]};
}

extern "C" __global__ void read_elements(const void* data, int32_t type, Tensor tensor,
                                         const uint64_t* indices, uint64_t count, double* values) {
  const uint64_t x = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (x < count) values[x] = value_at(data, type, offset_in(tensor, indices[x]));
}
