// How a product with few columns is divided among threads and blocks of skinny.cu. Pure arithmetic:
// knows no device but its number of multiprocessors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/jit.hpp"
#include "kernels/skinny.h"

namespace deepbench::cuda {

// What is multiplied, and where.
struct SkinnyProblem {
  uint32_t m, columns;
  uint32_t vectors;  // of 16 numbers, in a row of A
  int multiprocessors;
  uint64_t workspace_bytes;  // the limit
};

struct SkinnyPlan {
  // The instance of the kernel.
  int columns = 1;
  int lanes = 32;  // neighbouring threads that take the same rows
  int rows = 1;    // of such a group
  int depth = 1;   // vectors of each row that a thread reads at once
  // The grid: `blocks` for rows, each `split` times.
  uint32_t threads = 32, blocks = 1, split = 1;
  uint32_t part_vectors = 0;  // of a row, for each of the split
  uint32_t m = 0;             // rows of A: sums of parts take as many words for each column

  std::string name() const;        // "lanes=32,rows=4,split=16"
  std::string expression() const;  // "skinny<2, 4, 4, 32, true>"
  LaunchShape launch() const;
  uint64_t workspace_bytes() const;
};

// The default first, then what else is worth a try; each name once.
std::vector<SkinnyPlan> skinny_plans(const SkinnyProblem& problem);

}  // namespace deepbench::cuda
