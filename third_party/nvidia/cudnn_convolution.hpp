// cuDNN 9's legacy convolution functions, which take an algorithm and which cuDNN has deprecated.
// The tensor descriptors are in cudnn_rnn.hpp, because recurrent layers need them too.
#pragma once

#include "cudnn_types.hpp"

namespace deepbench::nvidia {

using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnFilterDescriptor_t = struct cudnnFilterStruct*;
using cudnnConvolutionDescriptor_t = struct cudnnConvolutionStruct*;

enum cudnnTensorFormat_t : int { CUDNN_TENSOR_NCHW = 0, CUDNN_TENSOR_NHWC = 1 };
enum cudnnDeterminism_t : int { CUDNN_NON_DETERMINISTIC = 0, CUDNN_DETERMINISTIC = 1 };

enum cudnnConvolutionFwdAlgo_t : int {
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM = 0,
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM = 1,
  CUDNN_CONVOLUTION_FWD_ALGO_GEMM = 2,
  CUDNN_CONVOLUTION_FWD_ALGO_DIRECT = 3,
  CUDNN_CONVOLUTION_FWD_ALGO_FFT = 4,
  CUDNN_CONVOLUTION_FWD_ALGO_FFT_TILING = 5,
  CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD = 6,
  CUDNN_CONVOLUTION_FWD_ALGO_WINOGRAD_NONFUSED = 7,
};

enum cudnnConvolutionBwdDataAlgo_t : int {
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_0 = 0,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_1 = 1,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT = 2,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_FFT_TILING = 3,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD = 4,
  CUDNN_CONVOLUTION_BWD_DATA_ALGO_WINOGRAD_NONFUSED = 5,
};

enum cudnnConvolutionBwdFilterAlgo_t : int {
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_0 = 0,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1 = 1,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT = 2,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_3 = 3,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD = 4,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_WINOGRAD_NONFUSED = 5,
  CUDNN_CONVOLUTION_BWD_FILTER_ALGO_FFT_TILING = 6,
};

// A result of the heuristics for one algorithm. Results are sorted, with the best first.
struct cudnnConvolutionFwdAlgoPerf_t {
  cudnnConvolutionFwdAlgo_t algo;
  cudnnStatus_t status;
  float time;
  size_t memory;
  cudnnDeterminism_t determinism;
  cudnnMathType_t mathType;
  int reserved[3];
};

struct cudnnConvolutionBwdDataAlgoPerf_t {
  cudnnConvolutionBwdDataAlgo_t algo;
  cudnnStatus_t status;
  float time;
  size_t memory;
  cudnnDeterminism_t determinism;
  cudnnMathType_t mathType;
  int reserved[3];
};

struct cudnnConvolutionBwdFilterAlgoPerf_t {
  cudnnConvolutionBwdFilterAlgo_t algo;
  cudnnStatus_t status;
  float time;
  size_t memory;
  cudnnDeterminism_t determinism;
  cudnnMathType_t mathType;
  int reserved[3];
};

#define DEEPBENCH_NVIDIA_CUDNN_CONVOLUTION_OPTIONAL(X)                                            \
  X(cudnnStatus_t, cudnnCreateFilterDescriptor, (cudnnFilterDescriptor_t * descriptor))           \
  X(cudnnStatus_t, cudnnDestroyFilterDescriptor, (cudnnFilterDescriptor_t descriptor))            \
  X(cudnnStatus_t, cudnnSetFilterNdDescriptor,                                                    \
    (cudnnFilterDescriptor_t descriptor, cudnnDataType_t type, cudnnTensorFormat_t format,        \
     int dimensions, const int* sizes))                                                           \
  X(cudnnStatus_t, cudnnCreateConvolutionDescriptor, (cudnnConvolutionDescriptor_t * descriptor)) \
  X(cudnnStatus_t, cudnnDestroyConvolutionDescriptor, (cudnnConvolutionDescriptor_t descriptor))  \
  X(cudnnStatus_t, cudnnSetConvolutionNdDescriptor,                                               \
    (cudnnConvolutionDescriptor_t descriptor, int dimensions, const int* padding,                 \
     const int* strides, const int* dilation, cudnnConvolutionMode_t mode, cudnnDataType_t type)) \
  X(cudnnStatus_t, cudnnSetConvolutionGroupCount,                                                 \
    (cudnnConvolutionDescriptor_t descriptor, int groups))                                        \
  X(cudnnStatus_t, cudnnSetConvolutionMathType,                                                   \
    (cudnnConvolutionDescriptor_t descriptor, cudnnMathType_t type))                              \
  X(cudnnStatus_t, cudnnGetConvolutionForwardAlgorithm_v7,                                        \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,                  \
     cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y, int requested,          \
     int* returned, cudnnConvolutionFwdAlgoPerf_t* results))                                      \
  X(cudnnStatus_t, cudnnGetConvolutionBackwardDataAlgorithm_v7,                                   \
    (cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,                 \
     cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx, int requested,         \
     int* returned, cudnnConvolutionBwdDataAlgoPerf_t* results))                                  \
  X(cudnnStatus_t, cudnnGetConvolutionBackwardFilterAlgorithm_v7,                                 \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,                 \
     cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw, int requested,         \
     int* returned, cudnnConvolutionBwdFilterAlgoPerf_t* results))                                \
  X(cudnnStatus_t, cudnnGetConvolutionForwardWorkspaceSize,                                       \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,                  \
     cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y,                         \
     cudnnConvolutionFwdAlgo_t algo, size_t * bytes))                                             \
  X(cudnnStatus_t, cudnnGetConvolutionBackwardDataWorkspaceSize,                                  \
    (cudnnHandle_t handle, cudnnFilterDescriptor_t w, cudnnTensorDescriptor_t dy,                 \
     cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t dx,                        \
     cudnnConvolutionBwdDataAlgo_t algo, size_t * bytes))                                         \
  X(cudnnStatus_t, cudnnGetConvolutionBackwardFilterWorkspaceSize,                                \
    (cudnnHandle_t handle, cudnnTensorDescriptor_t x, cudnnTensorDescriptor_t dy,                 \
     cudnnConvolutionDescriptor_t convolution, cudnnFilterDescriptor_t dw,                        \
     cudnnConvolutionBwdFilterAlgo_t algo, size_t * bytes))                                       \
  X(cudnnStatus_t, cudnnConvolutionForward,                                                       \
    (cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_tensor, const void* x,    \
     cudnnFilterDescriptor_t w_filter, const void* w, cudnnConvolutionDescriptor_t convolution,   \
     cudnnConvolutionFwdAlgo_t algo, void* workspace, size_t bytes, const void* beta,             \
     cudnnTensorDescriptor_t y_tensor, void* y))                                                  \
  X(cudnnStatus_t, cudnnConvolutionBackwardData,                                                  \
    (cudnnHandle_t handle, const void* alpha, cudnnFilterDescriptor_t w_filter, const void* w,    \
     cudnnTensorDescriptor_t dy_tensor, const void* dy, cudnnConvolutionDescriptor_t convolution, \
     cudnnConvolutionBwdDataAlgo_t algo, void* workspace, size_t bytes, const void* beta,         \
     cudnnTensorDescriptor_t dx_tensor, void* dx))                                                \
  X(cudnnStatus_t, cudnnConvolutionBackwardFilter,                                                \
    (cudnnHandle_t handle, const void* alpha, cudnnTensorDescriptor_t x_tensor, const void* x,    \
     cudnnTensorDescriptor_t dy_tensor, const void* dy, cudnnConvolutionDescriptor_t convolution, \
     cudnnConvolutionBwdFilterAlgo_t algo, void* workspace, size_t bytes, const void* beta,       \
     cudnnFilterDescriptor_t dw_filter, void* dw))

}  // namespace deepbench::nvidia
