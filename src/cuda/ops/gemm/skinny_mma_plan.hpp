// The division of a product with few columns among the warps and blocks of skinny_mma.cu. Pure
// arithmetic, which depends on the device only through its number of multiprocessors and its
// support of clusters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/jit.hpp"
#include "kernels/skinny_mma.h"

namespace deepbench::cuda {

// The product and the properties of the device that matter.
struct SkinnyMmaProblem {
  int32_t type;  // DEEPBENCH_F16 or DEEPBENCH_BF16
  bool transposed;
  uint32_t m, n, k;
  int multiprocessors;
  bool has_clusters;
};

struct SkinnyMmaPlan {
  // The instance of the kernel.
  int32_t type = 0;
  bool transposed = false;
  SkinnyMmaShape shape = {1, 1, 1, 1};
  bool whole_steps = true;
  // The call.
  uint32_t blocks = 1, part_steps = 1;

  std::string name() const;        // "rows=32,warps=4,split=2"
  std::string expression() const;  // "skinny_mma<2, true, 2, 2, 4, 2, true>"
  LaunchShape launch() const;
  uint64_t workspace_bytes() const { return 0; }
};

// The default first, then the other candidates. Every name occurs only once.
std::vector<SkinnyMmaPlan> skinny_mma_plans(const SkinnyMmaProblem& problem);

}  // namespace deepbench::cuda
