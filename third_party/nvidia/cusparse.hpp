// What we call of cuSPARSE, libcusparse.so.12 on CUDA 12 and on CUDA 13: versions and handles.
#pragma once

#include "cudart.hpp"
#include "properties.hpp"

namespace deepbench::nvidia {

using cusparseHandle_t = struct cusparseContext*;

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

#define DEEPBENCH_NVIDIA_CUSPARSE_REQUIRED(X)                                          \
  X(cusparseStatus_t, cusparseGetProperty, (libraryPropertyType property, int* value)) \
  X(const char*, cusparseGetErrorName, (cusparseStatus_t status))                      \
  X(const char*, cusparseGetErrorString, (cusparseStatus_t status))                    \
  X(cusparseStatus_t, cusparseCreate, (cusparseHandle_t * handle))                     \
  X(cusparseStatus_t, cusparseDestroy, (cusparseHandle_t handle))                      \
  X(cusparseStatus_t, cusparseSetStream, (cusparseHandle_t handle, cudaStream_t stream))

#define DEEPBENCH_NVIDIA_CUSPARSE_OPTIONAL(X)

DEEPBENCH_NVIDIA_TABLE(Cusparse, DEEPBENCH_NVIDIA_CUSPARSE_REQUIRED,
                       DEEPBENCH_NVIDIA_CUSPARSE_OPTIONAL);

}  // namespace deepbench::nvidia
