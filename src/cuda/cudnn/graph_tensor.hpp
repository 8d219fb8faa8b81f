// A tensor in a description to cuDNN's graph API.
#pragma once

#include <cstdint>
#include <vector>

#include "cudnn/descriptor.hpp"

namespace deepbench::cuda {

struct GraphTensor {
  int64_t id;  // unique within its graph; a variant pack gives the data of each id
  nvidia::cudnnDataType_t type;
  std::vector<int64_t> sizes, strides;
  bool is_virtual = false;   // in registers of a fused kernel, without data
  bool is_by_value = false;  // a number on the host, which each call reads

  // Throws plugin::Error (unsupported) if the library rejects the description.
  CudnnDescriptor describe() const;
};

}  // namespace deepbench::cuda
