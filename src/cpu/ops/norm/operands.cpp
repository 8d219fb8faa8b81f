// Fills operands with the values that norm.hpp defines.
#include "ops/norm/operands.hpp"

#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kGrain = 1 << 14;  // elements

template <class Store>
void fill_range(const NormValues& values, Inputs inputs, uint64_t seed, uint64_t begin,
                uint64_t end, deepbench_type type, const Store& store) {
  const float constant = inputs == Inputs::kOnes ? 1 : 0;
  for (uint64_t i = begin; i < end; ++i)
    store(i, values.element(
                 inputs == Inputs::kUniform ? deepbench_uniform(seed, values.stream, i) : constant,
                 type));
}

}  // namespace

void NormMemory::fill_values(const Array& array, const NormValues& values, Inputs inputs,
                             uint64_t seed) const {
  host_workers().parallel_for(array.elements, kGrain, [&](uint64_t begin, uint64_t end, size_t) {
    if (array.type == DEEPBENCH_F32)
      fill_range(values, inputs, seed, begin, end, array.type,
                 [&](uint64_t i, float value) { static_cast<float*>(array.data)[i] = value; });
    else if (array.type == DEEPBENCH_F16)
      fill_range(values, inputs, seed, begin, end, array.type, [&](uint64_t i, float value) {
        static_cast<uint16_t*>(array.data)[i] = deepbench_to_half(value);
      });
    else
      fill_range(values, inputs, seed, begin, end, array.type, [&](uint64_t i, float value) {
        static_cast<uint16_t*>(array.data)[i] = deepbench_to_bfloat16(value);
      });
  });
}

}  // namespace deepbench::cpu
