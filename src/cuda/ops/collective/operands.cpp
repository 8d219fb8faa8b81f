// Fills operands with the summands of fill.h.
#include "ops/collective/operands.hpp"

#include <algorithm>

#include "device.hpp"
#include "kernels/jit.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kFillThreads = 256, kFillBlocksPerMultiprocessor = 8;

}  // namespace

void RankMemory::fill_summands(const Array& array, const plugin::Summands& summands) const {
  LaunchShape shape;
  shape.block_x = kFillThreads;
  const auto multiprocessors = uint32_t(device_facts(stream().device()).multiprocessors);
  const uint64_t needed_blocks = (array.elements() + kFillThreads - 1) / kFillThreads;
  shape.grid_x =
      uint32_t(std::min<uint64_t>(needed_blocks, multiprocessors * kFillBlocksPerMultiprocessor));
  function("summand", "fill_summands", stream())
      .launch(shape, stream().get(), array.data, int32_t(array.type), array.elements(),
              summands.seed, summands.rank, summands.ranks);
}

}  // namespace deepbench::cuda

template class deepbench::plugin::RankOperands<deepbench::cuda::RankMemory>;
template class deepbench::plugin::CollectiveOperands<deepbench::cuda::RankMemory>;
