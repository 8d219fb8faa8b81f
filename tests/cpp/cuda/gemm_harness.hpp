// Requests and runs of matrix products on the CUDA backend through its plugin table.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "../cpu/naive_gemm.hpp"
#include "kernel_run.hpp"

namespace deepbench::cuda_test {

using cpu_test::Dimensions;
using cpu_test::exact_outputs;
using cpu_test::gemm_of;
using cpu_test::gemm_text;
using cpu_test::NaiveGemm;

struct GemmRequest : ProblemRequest {
  GemmRequest(const std::string& problem, const std::string& options)
      : ProblemRequest("gemm", problem, options) {}
};

struct GemmRun : KernelRun {
  GemmRun(const std::string& problem, const std::string& options)
      : KernelRun("gemm", problem, options) {}
};

// The problem with the roundoff of the hardware units, because NaiveGemm knows only that of sums.
inline Gemm with_roundoff_of_units(Gemm gemm) {
  // Hopper keeps 13 fractional bits, relative to the largest product, when it adds 8-bit products.
  if (size_of(gemm.precision.a) == 1 && gemm.precision.c == DEEPBENCH_BF16)
    gemm.precision.sum_roundoff = 1.0 / (1 << 13);
  if (gemm.precision.precision == Precision::kTf32) gemm.precision.sum_roundoff = kRoundoffTf32;
  return gemm;
}

}  // namespace deepbench::cuda_test
