// The operands of a normalization in device memory.
#pragma once

#include "deepbench/backend/norm_operands.hpp"
#include "device_memory.hpp"

namespace deepbench::cuda {

class NormMemory : public DeviceMemory {
 public:
  using DeviceMemory::DeviceMemory;

  Array array(void* data, deepbench_type type, uint64_t elements) const {
    return {data, type, elements};
  }
  void fill_values(const Array& array, const NormValues& values, Inputs inputs,
                   uint64_t seed) const;
};

using NormOperands = plugin::NormOperands<NormMemory>;

}  // namespace deepbench::cuda
