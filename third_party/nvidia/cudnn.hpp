// The functions of cuDNN 9 that deepbench calls. This header declares versions and handles; its
// interfaces have separate headers, whose lists of functions are part of this table.
#pragma once

#include "cudart.hpp"
#include "cudnn_convolution.hpp"
#include "cudnn_graph.hpp"
#include "cudnn_norm.hpp"
#include "cudnn_ops.hpp"
#include "cudnn_pooling.hpp"
#include "cudnn_rnn.hpp"
#include "library_types.hpp"

namespace deepbench::nvidia {

#define DEEPBENCH_NVIDIA_CUDNN_REQUIRED(X)                                       \
  X(size_t, cudnnGetVersion, ())                                                 \
  X(size_t, cudnnGetCudartVersion, ())                                           \
  X(cudnnStatus_t, cudnnGetProperty, (libraryPropertyType property, int* value)) \
  X(const char*, cudnnGetErrorString, (cudnnStatus_t status))                    \
  X(cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle))                        \
  X(cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle))                         \
  X(cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream))  \
  DEEPBENCH_NVIDIA_CUDNN_GRAPH_REQUIRED(X)                                       \
  DEEPBENCH_NVIDIA_CUDNN_RNN_REQUIRED(X)

#define DEEPBENCH_NVIDIA_CUDNN_OPTIONAL(X)                     \
  X(void, cudnnGetLastErrorString, (char* text, size_t bytes)) \
  DEEPBENCH_NVIDIA_CUDNN_CONVOLUTION_OPTIONAL(X)               \
  DEEPBENCH_NVIDIA_CUDNN_OPS_OPTIONAL(X)                       \
  DEEPBENCH_NVIDIA_CUDNN_POOLING_OPTIONAL(X)                   \
  DEEPBENCH_NVIDIA_CUDNN_NORM_OPTIONAL(X)

DEEPBENCH_NVIDIA_TABLE(Cudnn, DEEPBENCH_NVIDIA_CUDNN_REQUIRED, DEEPBENCH_NVIDIA_CUDNN_OPTIONAL);

}  // namespace deepbench::nvidia
