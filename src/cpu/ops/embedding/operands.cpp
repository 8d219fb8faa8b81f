// Fills indices with the rows of lookup.h.
#include "ops/embedding/operands.hpp"

#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kGrain = 1 << 14;

}  // namespace

void EmbeddingMemory::fill_lookups(int32_t* indices, const Embedding& embedding,
                                   uint64_t seed) const {
  host_workers().parallel_for(uint64_t(embedding.all_lookups()), kGrain,
                              [&](uint64_t begin, uint64_t end, size_t) {
                                for (uint64_t i = begin; i < end; ++i)
                                  indices[i] = int32_t(embedding.row_of(seed, int64_t(i)));
                              });
}

}  // namespace deepbench::cpu
