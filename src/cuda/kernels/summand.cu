// Fills the operand that a rank adds to an all_reduce: small integers from fill.h, in the element
// types that all_reduce supports.
#include "fill.h"

extern "C" __global__ void fill_summands(void* data, int32_t type, uint64_t elements, uint64_t seed,
                                         uint32_t rank, uint32_t ranks) {
  const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
  for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < elements; i += threads) {
    const float value = deepbench_summand(deepbench_type(type), seed, rank, ranks, i);
    if (type == DEEPBENCH_F32)
      static_cast<float*>(data)[i] = value;
    else if (type == DEEPBENCH_F16)
      static_cast<uint16_t*>(data)[i] = deepbench_to_half(value);
    else
      static_cast<uint16_t*>(data)[i] = deepbench_to_bfloat16(value);
  }
}
