// The functions of cuSPARSE (libcusparse.so.12 for both CUDA 12 and CUDA 13) that deepbench calls:
// handles, and products of a sparse matrix with a dense matrix or a vector.
#pragma once

#include "cudart.hpp"
#include "library_types.hpp"

namespace deepbench::nvidia {

using cusparseHandle_t = struct cusparseContext*;
using cusparseSpMatDescr_t = struct cusparseSpMatDescr*;
using cusparseDnMatDescr_t = struct cusparseDnMatDescr*;
using cusparseDnVecDescr_t = struct cusparseDnVecDescr*;
using cusparseConstSpMatDescr_t = const struct cusparseSpMatDescr*;
using cusparseConstDnMatDescr_t = const struct cusparseDnMatDescr*;
using cusparseConstDnVecDescr_t = const struct cusparseDnVecDescr*;

enum cusparseStatus_t : int {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_ARCH_MISMATCH = 4,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10,
  CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11,
};

enum cusparseOperation_t : int {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
};

enum cusparseIndexBase_t : int { CUSPARSE_INDEX_BASE_ZERO = 0 };
enum cusparseIndexType_t : int { CUSPARSE_INDEX_32I = 2 };
enum cusparseOrder_t : int { CUSPARSE_ORDER_COL = 1, CUSPARSE_ORDER_ROW = 2 };

enum cusparseSpMVAlg_t : int {
  CUSPARSE_SPMV_ALG_DEFAULT = 0,
  CUSPARSE_SPMV_CSR_ALG1 = 2,
  CUSPARSE_SPMV_CSR_ALG2 = 3,
};

enum cusparseSpMMAlg_t : int {
  CUSPARSE_SPMM_ALG_DEFAULT = 0,
  CUSPARSE_SPMM_CSR_ALG1 = 4,
  CUSPARSE_SPMM_CSR_ALG2 = 6,
  CUSPARSE_SPMM_CSR_ALG3 = 12,
};

#define DEEPBENCH_NVIDIA_CUSPARSE_REQUIRED(X)                                                     \
  X(cusparseStatus_t, cusparseGetProperty, (libraryPropertyType property, int* value))            \
  X(const char*, cusparseGetErrorName, (cusparseStatus_t status))                                 \
  X(const char*, cusparseGetErrorString, (cusparseStatus_t status))                               \
  X(cusparseStatus_t, cusparseCreate, (cusparseHandle_t * handle))                                \
  X(cusparseStatus_t, cusparseDestroy, (cusparseHandle_t handle))                                 \
  X(cusparseStatus_t, cusparseSetStream, (cusparseHandle_t handle, cudaStream_t stream))          \
  X(cusparseStatus_t, cusparseCreateCsr,                                                          \
    (cusparseSpMatDescr_t * matrix, int64_t rows, int64_t columns, int64_t nonzeros,              \
     void* offsets, void* indices, void* values, cusparseIndexType_t offsets_type,                \
     cusparseIndexType_t indices_type, cusparseIndexBase_t base, cudaDataType type))              \
  X(cusparseStatus_t, cusparseDestroySpMat, (cusparseConstSpMatDescr_t matrix))                   \
  X(cusparseStatus_t, cusparseCreateDnMat,                                                        \
    (cusparseDnMatDescr_t * matrix, int64_t rows, int64_t columns, int64_t leading, void* values, \
     cudaDataType type, cusparseOrder_t order))                                                   \
  X(cusparseStatus_t, cusparseDestroyDnMat, (cusparseConstDnMatDescr_t matrix))                   \
  X(cusparseStatus_t, cusparseCreateDnVec,                                                        \
    (cusparseDnVecDescr_t * vector, int64_t size, void* values, cudaDataType type))               \
  X(cusparseStatus_t, cusparseDestroyDnVec, (cusparseConstDnVecDescr_t vector))                   \
  X(cusparseStatus_t, cusparseSpMM_bufferSize,                                                    \
    (cusparseHandle_t handle, cusparseOperation_t operation_a, cusparseOperation_t operation_b,   \
     const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,                 \
     const void* beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t algorithm, \
     size_t* bytes))                                                                              \
  X(cusparseStatus_t, cusparseSpMM,                                                               \
    (cusparseHandle_t handle, cusparseOperation_t operation_a, cusparseOperation_t operation_b,   \
     const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,                 \
     const void* beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t algorithm, \
     void* buffer))                                                                               \
  X(cusparseStatus_t, cusparseSpMV_bufferSize,                                                    \
    (cusparseHandle_t handle, cusparseOperation_t operation_a, const void* alpha,                 \
     cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,                  \
     cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm, size_t* bytes))   \
  X(cusparseStatus_t, cusparseSpMV,                                                               \
    (cusparseHandle_t handle, cusparseOperation_t operation_a, const void* alpha,                 \
     cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,                  \
     cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm, void* buffer))

#define DEEPBENCH_NVIDIA_CUSPARSE_OPTIONAL(X)                                                     \
  X(cusparseStatus_t, cusparseSpMM_preprocess,                                                    \
    (cusparseHandle_t handle, cusparseOperation_t operation_a, cusparseOperation_t operation_b,   \
     const void* alpha, cusparseConstSpMatDescr_t a, cusparseConstDnMatDescr_t b,                 \
     const void* beta, cusparseDnMatDescr_t c, cudaDataType compute, cusparseSpMMAlg_t algorithm, \
     void* buffer))                                                                               \
  X(cusparseStatus_t, cusparseSpMV_preprocess,                                                    \
    (cusparseHandle_t handle, cusparseOperation_t operation_a, const void* alpha,                 \
     cusparseConstSpMatDescr_t a, cusparseConstDnVecDescr_t x, const void* beta,                  \
     cusparseDnVecDescr_t y, cudaDataType compute, cusparseSpMVAlg_t algorithm, void* buffer))

DEEPBENCH_NVIDIA_TABLE(Cusparse, DEEPBENCH_NVIDIA_CUSPARSE_REQUIRED,
                       DEEPBENCH_NVIDIA_CUSPARSE_OPTIONAL);

}  // namespace deepbench::nvidia
