// The functions of cuBLASLt (libcublasLt.so.12 and .13) that deepbench calls.
#pragma once

#include "cublas.hpp"

namespace deepbench::nvidia {

using cublasLtHandle_t = struct cublasLtContext*;
using cublasLtMatmulDesc_t = struct cublasLtMatmulDescOpaque_t*;
using cublasLtMatrixLayout_t = struct cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulPreference_t = struct cublasLtMatmulPreferenceOpaque_t*;

struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;  // The other fields are valid only if this is CUBLAS_STATUS_SUCCESS.
  float wavesCount;
  int reserved[4];
};

enum cublasLtOrder_t : int { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1 };

enum cublasLtMatrixLayoutAttribute_t : int {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,                  // uint32_t, cudaDataType
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,                 // int32_t, cublasLtOrder_t
  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,                  // uint64_t
  CUBLASLT_MATRIX_LAYOUT_COLS = 3,                  // uint64_t
  CUBLASLT_MATRIX_LAYOUT_LD = 4,                    // int64_t
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,           // int32_t
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,  // int64_t
};

enum cublasLtMatmulDescAttributes_t : int {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,      // int32_t, cublasComputeType_t
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,        // int32_t, cudaDataType
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,      // int32_t, cublasLtPointerMode_t
  CUBLASLT_MATMUL_DESC_TRANSA = 3,            // int32_t, cublasOperation_t
  CUBLASLT_MATMUL_DESC_TRANSB = 4,            // int32_t, cublasOperation_t
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,          // uint32_t, cublasLtEpilogue_t
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,      // void* on the device; of D's type
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17,  // const float* on the device; nullptr is 1
  CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
  CUBLASLT_MATMUL_DESC_C_SCALE_POINTER = 19,
  CUBLASLT_MATMUL_DESC_D_SCALE_POINTER = 20,
  CUBLASLT_MATMUL_DESC_FAST_ACCUM = 25,    // int8_t
  CUBLASLT_MATMUL_DESC_A_SCALE_MODE = 31,  // int32_t, cublasLtMatmulMatrixScale_t
  CUBLASLT_MATMUL_DESC_B_SCALE_MODE = 32,
};

enum cublasLtMatmulMatrixScale_t : int {
  CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0,
  CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F = 4,      // from cuBLAS 12.9
  CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F = 5,  // likewise
};

enum cublasLtEpilogue_t : int {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36,
};

enum cublasLtPointerMode_t : int {
  CUBLASLT_POINTER_MODE_HOST = 0,
  CUBLASLT_POINTER_MODE_DEVICE = 1,
};

enum cublasLtMatmulPreferenceAttributes_t : int {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,            // uint32_t, cublasLtMatmulSearch_t
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,    // uint64_t
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,  // uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,  // uint32_t
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
  CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT = 9,  // float
};

enum cublasLtMatmulSearch_t : int {
  CUBLASLT_SEARCH_BEST_FIT = 0,
  CUBLASLT_SEARCH_LIMITED_BY_ALGO_ID = 1,
};

enum cublasLtReductionScheme_t : int {
  CUBLASLT_REDUCTION_SCHEME_NONE = 0,
  CUBLASLT_REDUCTION_SCHEME_INPLACE = 1,
  CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE = 2,
  CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE = 4,
  CUBLASLT_REDUCTION_SCHEME_MASK = 7,
};

enum cublasLtMatmulAlgoCapAttributes_t : int {
  CUBLASLT_ALGO_CAP_SPLITK_SUPPORT = 0,          // int32_t
  CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK = 1,   // uint32_t
  CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT = 2,   // uint32_t
  CUBLASLT_ALGO_CAP_TILE_IDS = 6,                // uint32_t[]
  CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX = 7,       // int32_t
  CUBLASLT_ALGO_CAP_STAGES_IDS = 13,             // uint32_t[]
  CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS = 15,   // uint64_t
  CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES = 16,  // uint32_t
  CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES = 17,
  CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES = 18,
  CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES = 19,
};

enum cublasLtMatmulAlgoConfigAttributes_t : int {
  CUBLASLT_ALGO_CONFIG_ID = 0,                // int32_t
  CUBLASLT_ALGO_CONFIG_TILE_ID = 1,           // uint32_t
  CUBLASLT_ALGO_CONFIG_SPLITK_NUM = 2,        // int32_t
  CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME = 3,  // uint32_t
  CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING = 4,     // uint32_t
  CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION = 5,     // uint32_t
  CUBLASLT_ALGO_CONFIG_STAGES_ID = 6,         // uint32_t
  CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID = 7,    // uint16_t
  CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID = 8,  // uint16_t
};

#define DEEPBENCH_NVIDIA_CUBLASLT_REQUIRED(X)                                                      \
  X(size_t, cublasLtGetVersion, ())                                                                \
  X(size_t, cublasLtGetCudartVersion, ())                                                          \
  X(cublasStatus_t, cublasLtGetProperty, (libraryPropertyType property, int* value))               \
  X(const char*, cublasLtGetStatusName, (cublasStatus_t status))                                   \
  X(const char*, cublasLtGetStatusString, (cublasStatus_t status))                                 \
  X(cublasStatus_t, cublasLtCreate, (cublasLtHandle_t * handle))                                   \
  X(cublasStatus_t, cublasLtDestroy, (cublasLtHandle_t handle))                                    \
  X(cublasStatus_t, cublasLtMatmulDescCreate,                                                      \
    (cublasLtMatmulDesc_t * descriptor, cublasComputeType_t compute_type,                          \
     cudaDataType scale_type))                                                                     \
  X(cublasStatus_t, cublasLtMatmulDescDestroy, (cublasLtMatmulDesc_t descriptor))                  \
  X(cublasStatus_t, cublasLtMatmulDescSetAttribute,                                                \
    (cublasLtMatmulDesc_t descriptor, cublasLtMatmulDescAttributes_t attribute, const void* value, \
     size_t bytes))                                                                                \
  X(cublasStatus_t, cublasLtMatrixLayoutCreate,                                                    \
    (cublasLtMatrixLayout_t * layout, cudaDataType type, uint64_t rows, uint64_t columns,          \
     int64_t ld))                                                                                  \
  X(cublasStatus_t, cublasLtMatrixLayoutDestroy, (cublasLtMatrixLayout_t layout))                  \
  X(cublasStatus_t, cublasLtMatrixLayoutSetAttribute,                                              \
    (cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value,  \
     size_t bytes))                                                                                \
  X(cublasStatus_t, cublasLtMatmulPreferenceCreate, (cublasLtMatmulPreference_t * preference))     \
  X(cublasStatus_t, cublasLtMatmulPreferenceDestroy, (cublasLtMatmulPreference_t preference))      \
  X(cublasStatus_t, cublasLtMatmulPreferenceSetAttribute,                                          \
    (cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,        \
     const void* value, size_t bytes))                                                             \
  X(cublasStatus_t, cublasLtMatmulAlgoGetHeuristic,                                                \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a,           \
     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                 \
     cublasLtMatmulPreference_t preference, int requested,                                         \
     cublasLtMatmulHeuristicResult_t* results, int* returned))                                     \
  X(cublasStatus_t, cublasLtMatmulAlgoGetIds,                                                      \
    (cublasLtHandle_t handle, cublasComputeType_t compute_type, cudaDataType scale_type,           \
     cudaDataType a_type, cudaDataType b_type, cudaDataType c_type, cudaDataType d_type,           \
     int requested, int* ids, int* returned))                                                      \
  X(cublasStatus_t, cublasLtMatmulAlgoInit,                                                        \
    (cublasLtHandle_t handle, cublasComputeType_t compute_type, cudaDataType scale_type,           \
     cudaDataType a_type, cudaDataType b_type, cudaDataType c_type, cudaDataType d_type, int id,   \
     cublasLtMatmulAlgo_t* algo))                                                                  \
  X(cublasStatus_t, cublasLtMatmulAlgoCheck,                                                       \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, cublasLtMatrixLayout_t a,           \
     cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,                 \
     const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result))                   \
  X(cublasStatus_t, cublasLtMatmulAlgoCapGetAttribute,                                             \
    (const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoCapAttributes_t attribute, void* value,   \
     size_t bytes, size_t* bytes_written))                                                         \
  X(cublasStatus_t, cublasLtMatmulAlgoConfigSetAttribute,                                          \
    (cublasLtMatmulAlgo_t * algo, cublasLtMatmulAlgoConfigAttributes_t attribute,                  \
     const void* value, size_t bytes))                                                             \
  X(cublasStatus_t, cublasLtMatmulAlgoConfigGetAttribute,                                          \
    (const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t attribute,             \
     void* value, size_t bytes, size_t* bytes_written))                                            \
  X(cublasStatus_t, cublasLtMatmul,                                                                \
    (cublasLtHandle_t handle, cublasLtMatmulDesc_t descriptor, const void* alpha, const void* a,   \
     cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,              \
     const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,                    \
     cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,           \
     size_t workspace_bytes, cudaStream_t stream))

#define DEEPBENCH_NVIDIA_CUBLASLT_OPTIONAL(X)

DEEPBENCH_NVIDIA_TABLE(CublasLt, DEEPBENCH_NVIDIA_CUBLASLT_REQUIRED,
                       DEEPBENCH_NVIDIA_CUBLASLT_OPTIONAL);

}  // namespace deepbench::nvidia
