// Fills indices with the rows of lookup.h.
#include "ops/embedding/operands.hpp"

#include "kernels/jit.hpp"

namespace deepbench::cuda {
namespace {

constexpr uint32_t kFillThreads = 256, kFillBlocks = 1024;

}  // namespace

void EmbeddingMemory::fill_lookups(int32_t* indices, const Embedding& embedding,
                                   uint64_t seed) const {
  LaunchShape shape;
  shape.grid_x = kFillBlocks, shape.block_x = kFillThreads;
  function("embedding", "fill_lookups", stream())
      .launch(shape, stream().get(), indices, uint64_t(embedding.all_lookups()), seed,
              Embedding::kStreamLookups, uint32_t(embedding.rows), embedding.octaves());
}

}  // namespace deepbench::cuda
