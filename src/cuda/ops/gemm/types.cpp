// The types of every precision, and the constant one.
#include "ops/gemm/types.hpp"

namespace deepbench::cuda {

GemmTypes gemm_types(const PrecisionInfo& precision) {
  using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation
  switch (precision.precision) {
    case Precision::kTf32:
      return {CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F};
    case Precision::kHalf:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F};
    case Precision::kBfloat16:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF};
    case Precision::kFp8E4m3:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF};
    case Precision::kFp8E5m2:
      return {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16BF};
    case Precision::kInt8:
      return {CUBLAS_COMPUTE_32I, CUDA_R_32I, CUDA_R_8I, CUDA_R_8I, CUDA_R_32I};
    case Precision::kFloat:
      break;
  }
  return {CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F};
}

One::One(nvidia::cudaDataType scale) {
  if (scale == nvidia::CUDA_R_32I)
    integer = 1;
  else
    real = 1;
}

}  // namespace deepbench::cuda
