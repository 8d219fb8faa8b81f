// The division of a product with few columns among the threads and blocks of skinny.cu. Pure
// arithmetic, which depends on the device only through its number of multiprocessors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/jit.hpp"
#include "kernels/skinny.h"

namespace deepbench::cuda {

// The product and the properties of the device that matter.
struct SkinnyProblem {
  uint32_t m, columns;
  uint32_t vectors;  // vectors of 16 numbers in a row of A
  int multiprocessors;
  uint64_t workspace_bytes;  // upper limit
};

struct SkinnyPlan {
  // The instance of the kernel.
  int columns = 1;
  int lanes = 32;  // neighboring threads that handle the same rows
  int rows = 1;    // rows per group of lanes
  int depth = 1;   // vectors of each row that a thread reads at once
  // The grid has `blocks` blocks along the rows, times `split` parts of k.
  uint32_t threads = 32, blocks = 1, split = 1;
  uint32_t part_vectors = 0;  // vectors of a row in one part
  uint32_t m = 0;             // rows of A; partial sums take this many words per column

  std::string name() const;        // "lanes=32,rows=4,split=16"
  std::string expression() const;  // "skinny<2, 4, 4, 32, true>"
  LaunchShape launch() const;
  uint64_t workspace_bytes() const;
};

// The default first, then the other candidates. Every name occurs only once.
std::vector<SkinnyPlan> skinny_plans(const SkinnyProblem& problem);

}  // namespace deepbench::cuda
