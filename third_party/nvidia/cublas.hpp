// The functions of cuBLAS (libcublas.so.12 and .13) that deepbench calls, and the types that
// cuBLASLt shares with it.
#pragma once

#include "cudart.hpp"
#include "library_types.hpp"

namespace deepbench::nvidia {

using cublasHandle_t = struct cublasContext*;

enum cublasStatus_t : int {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16,
};

enum cublasOperation_t : int { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };

enum cublasComputeType_t : int {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77,
};

enum cublasMath_t : int {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16,
};

// The numbered algorithms have no effect on devices of compute capability 7 and later.
enum cublasGemmAlgo_t : int {
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
};

#define DEEPBENCH_NVIDIA_CUBLAS_REQUIRED(X)                                                        \
  X(cublasStatus_t, cublasCreate_v2, (cublasHandle_t * handle))                                    \
  X(cublasStatus_t, cublasDestroy_v2, (cublasHandle_t handle))                                     \
  X(cublasStatus_t, cublasGetVersion_v2, (cublasHandle_t handle, int* version))                    \
  X(cublasStatus_t, cublasGetProperty, (libraryPropertyType property, int* value))                 \
  X(const char*, cublasGetStatusName, (cublasStatus_t status))                                     \
  X(const char*, cublasGetStatusString, (cublasStatus_t status))                                   \
  X(cublasStatus_t, cublasSetStream_v2, (cublasHandle_t handle, cudaStream_t stream))              \
  X(cublasStatus_t, cublasSetWorkspace_v2, (cublasHandle_t handle, void* workspace, size_t bytes)) \
  X(cublasStatus_t, cublasSetMathMode, (cublasHandle_t handle, cublasMath_t mode))                 \
  X(cublasStatus_t, cublasGemmEx,                                                                  \
    (cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, int m, int n,    \
     int k, const void* alpha, const void* a, cudaDataType a_type, int lda, const void* b,         \
     cudaDataType b_type, int ldb, const void* beta, void* c, cudaDataType c_type, int ldc,        \
     cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm))                                \
  X(cublasStatus_t, cublasGemmStridedBatchedEx,                                                    \
    (cublasHandle_t handle, cublasOperation_t trans_a, cublasOperation_t trans_b, int m, int n,    \
     int k, const void* alpha, const void* a, cudaDataType a_type, int lda, long long stride_a,    \
     const void* b, cudaDataType b_type, int ldb, long long stride_b, const void* beta, void* c,   \
     cudaDataType c_type, int ldc, long long stride_c, int batch_count,                            \
     cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm))

// Since cuBLAS 12.5. The arrays have one element for each group; those of pointers lie on the
// device.
#define DEEPBENCH_NVIDIA_CUBLAS_OPTIONAL(X)                                                     \
  X(cublasStatus_t, cublasGemmGroupedBatchedEx,                                                 \
    (cublasHandle_t handle, const cublasOperation_t* trans_a, const cublasOperation_t* trans_b, \
     const int* m, const int* n, const int* k, const void* alpha, const void* const* a,         \
     cudaDataType a_type, const int* lda, const void* const* b, cudaDataType b_type,            \
     const int* ldb, const void* beta, void* const* c, cudaDataType c_type, const int* ldc,     \
     int group_count, const int* group_size, cublasComputeType_t compute_type))

DEEPBENCH_NVIDIA_TABLE(Cublas, DEEPBENCH_NVIDIA_CUBLAS_REQUIRED, DEEPBENCH_NVIDIA_CUBLAS_OPTIONAL);

}  // namespace deepbench::nvidia
