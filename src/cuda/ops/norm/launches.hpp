// The launches of the kernels of kernels/norm.cu that compute a normalization one after another.
// This is pure arithmetic, which is tested without a device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/ops/norm/norm.hpp"
#include "kernels/jit.hpp"
#include "kernels/norm.h"

namespace deepbench::cuda {

struct NormLaunch {
  enum class Second { kNone, kParts, kIsVariance };  // parameter after NormArguments
  std::string expression;                            // an instance of a template of norm.cu
  LaunchShape shape;
  Second second = Second::kNone;
  uint64_t value = 0;  // value of the second parameter
};

struct NormLaunches {
  std::vector<NormLaunch> launches;
  uint64_t partial_bytes = 0;  // size of NormArguments::partial

  std::string text() const;  // "normalize_sets<DEEPBENCH_F32, 4, 2>"
};

// Throws plugin::Error (unsupported) for dimensions that no grid of blocks has.
NormLaunches norm_launches(const Norm& norm, int multiprocessors);

// The launches that compute only the statistics of x, from which gradients start: `out` is null.
NormLaunches statistics_launches(const Norm& norm, int multiprocessors);

}  // namespace deepbench::cuda
