// Generates and scales elements.
#include "deepbench/core/generated_array.hpp"

namespace deepbench {
namespace {

constexpr const char* kIntegers = "integers";

InputGenerator generator_of(const InputArray& array, const KernelConditions& conditions) {
  if (conditions.inputs != kIntegers) return {conditions.seed, conditions.inputs};
  InputGenerator::SmallIntegers all;
  all.fill(array.integers);
  return {conditions.seed, all};
}

}  // namespace

GeneratedArray::GeneratedArray(const InputArray& array, const KernelConditions& conditions)
    : array_(array),
      generator_(generator_of(array, conditions)),
      scale_(conditions.inputs == kIntegers ? array.integer_scale : array.scale) {}

void GeneratedArray::read(uint64_t first, int64_t count, float* out) const {
  generator_.fill(array_.type, array_.stream, first, 1, count, out);
  if (scale_ == 1) return;
  for (int64_t i = 0; i < count; ++i) out[i] *= scale_;
}

}  // namespace deepbench
