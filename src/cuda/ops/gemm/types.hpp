// What the numbers of a matrix product are to cuBLAS and cuBLASLt, which name them alike.
#pragma once

#include <cstdint>

#include "deepbench/ops/precision.hpp"
#include "nvidia/cublas.hpp"

namespace deepbench::cuda {

// Arithmetic, alpha and beta, operands; C's is D's too.
struct GemmTypes {
  nvidia::cublasComputeType_t compute;
  nvidia::cudaDataType scale, a, b, c;
};
GemmTypes gemm_types(const PrecisionInfo& precision);

// alpha = beta = 1 in the type of GemmTypes::scale; the libraries take its address.
union One {
  explicit One(nvidia::cudaDataType scale);
  float real;
  int32_t integer;
};

}  // namespace deepbench::cuda
