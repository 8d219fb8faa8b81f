// Fills operands with the values that norm.hpp defines.
#include "ops/norm/operands.hpp"

#include <algorithm>

#include "kernels/jit.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint64_t kThreads = 256, kMostBlocks = 4096;

const char* fill_kernel(deepbench_type type) {
  return type == DEEPBENCH_F32   ? "fill_norm_values<DEEPBENCH_F32>"
         : type == DEEPBENCH_F16 ? "fill_norm_values<DEEPBENCH_F16>"
                                 : "fill_norm_values<DEEPBENCH_BF16>";
}

}  // namespace

void NormMemory::fill_values(const Array& array, const NormValues& values, Inputs inputs,
                             uint64_t seed) const {
  LaunchShape shape;
  shape.block_x = uint32_t(kThreads);
  shape.grid_x =
      uint32_t(std::clamp<uint64_t>((array.elements() + kThreads - 1) / kThreads, 1, kMostBlocks));
  function("norm", fill_kernel(array.type), stream())
      .launch(shape, stream().get(), array.data, array.elements(),
              uint32_t(inputs == Inputs::kUniform), inputs == Inputs::kOnes ? 1.0f : 0.0f, seed,
              values.stream, values.offset, values.factor);
}

}  // namespace deepbench::cuda
