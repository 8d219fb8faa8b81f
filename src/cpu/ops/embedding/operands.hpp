// The operands of lookups in host memory.
#pragma once

#include <cstdint>

#include "deepbench/backend/embedding_operands.hpp"
#include "host_memory.hpp"

namespace deepbench::cpu {

class EmbeddingMemory : public HostMemory {
 public:
  void fill_lookups(int32_t* indices, const Embedding& embedding, uint64_t seed) const;
};

using EmbeddingOperands = plugin::EmbeddingOperands<EmbeddingMemory>;

}  // namespace deepbench::cpu
