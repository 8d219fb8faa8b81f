// The operands of lookups in device memory.
#pragma once

#include <cstdint>

#include "deepbench/backend/embedding_operands.hpp"
#include "device_memory.hpp"

namespace deepbench::cuda {

class EmbeddingMemory : public DeviceMemory {
 public:
  using DeviceMemory::DeviceMemory;

  void fill_lookups(int32_t* indices, const Embedding& embedding, uint64_t seed) const;
};

using EmbeddingOperands = plugin::EmbeddingOperands<EmbeddingMemory>;

}  // namespace deepbench::cuda
