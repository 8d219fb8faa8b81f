// The kernel of embedding.cu for lookups, and its launch. This is pure arithmetic, which is tested
// without a device.
#pragma once

#include <string>

#include "deepbench/ops/embedding/embedding.hpp"
#include "kernels/embedding.h"
#include "kernels/jit.hpp"

namespace deepbench::cuda {

struct LookupKernel {
  std::string expression;  // "sum_rows<Half, uint4>"
  LaunchShape shape;
  EmbeddingLookups lookups;  // without the pointers
};

// Throws plugin::Error (unsupported) for precisions that the kernels lack.
LookupKernel lookup_kernel(const Embedding& embedding);

}  // namespace deepbench::cuda
