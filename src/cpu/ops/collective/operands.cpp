// Fills the operands of sums with deepbench_summand, whose sums over all ranks are exact.
#include "ops/collective/operands.hpp"

#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kFillGrain = 1 << 14;

// The values of deepbench_summand are integers that each of these types stores exactly.
void store(deepbench_type type, void* out, uint64_t index, float value) {
  if (type == DEEPBENCH_F32)
    static_cast<float*>(out)[index] = value;
  else if (type == DEEPBENCH_F16)
    static_cast<uint16_t*>(out)[index] = deepbench_to_half(value);
  else
    static_cast<uint16_t*>(out)[index] = deepbench_to_bfloat16(value);
}

}  // namespace

void RankMemory::fill_summands(const Array& array, const plugin::Summands& summands) const {
  host_workers().parallel_for(
      array.elements, kFillGrain, [&](uint64_t begin, uint64_t end, size_t) {
        for (uint64_t i = begin; i < end; ++i)
          store(array.type, array.data, i,
                deepbench_summand(array.type, summands.seed, summands.rank, summands.ranks, i));
      });
}

}  // namespace deepbench::cpu

template class deepbench::plugin::RankOperands<deepbench::cpu::RankMemory>;
template class deepbench::plugin::CollectiveOperands<deepbench::cpu::RankMemory>;
