// The types of a matrix product in cuBLAS and cuBLASLt, which use the same names.
#pragma once

#include <cstdint>

#include "deepbench/core/precision.hpp"
#include "nvidia/cublas.hpp"

namespace deepbench::cuda {

// The types of arithmetic, of alpha and beta (`scale`), and of the operands. D has the type of C.
struct GemmTypes {
  nvidia::cublasComputeType_t compute;
  nvidia::cudaDataType scale, a, b, c;
};
GemmTypes gemm_types(const PrecisionInfo& precision);

// alpha = beta = 1 in the type GemmTypes::scale. The libraries take its address.
union One {
  explicit One(nvidia::cudaDataType scale);
  float real;
  int32_t integer;
};

}  // namespace deepbench::cuda
