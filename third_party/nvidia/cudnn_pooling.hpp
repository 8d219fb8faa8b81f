// cuDNN 9's legacy functions for pooling and for local response normalization. The tensor
// descriptors are in cudnn_rnn.hpp, because recurrent layers need them too.
#pragma once

#include "cudnn_convolution.hpp"
#include "cudnn_types.hpp"

namespace deepbench::nvidia {

using cudnnPoolingDescriptor_t = struct cudnnPoolingStruct*;
using cudnnLRNDescriptor_t = struct cudnnLRNStruct*;

enum cudnnPoolingMode_t : int {
  CUDNN_POOLING_MAX = 0,
  CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING = 1,
  CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING = 2,
  CUDNN_POOLING_MAX_DETERMINISTIC = 3,
};

enum cudnnLRNMode_t : int { CUDNN_LRN_CROSS_CHANNEL_DIM1 = 0 };

#define DEEPBENCH_NVIDIA_CUDNN_POOLING_OPTIONAL(X)                                            \
  X(cudnnStatus_t, cudnnCreatePoolingDescriptor, (cudnnPoolingDescriptor_t * descriptor))     \
  X(cudnnStatus_t, cudnnDestroyPoolingDescriptor, (cudnnPoolingDescriptor_t descriptor))      \
  X(cudnnStatus_t, cudnnSetPooling2dDescriptor,                                               \
    (cudnnPoolingDescriptor_t descriptor, cudnnPoolingMode_t mode, cudnnNanPropagation_t nan, \
     int window_height, int window_width, int vertical_padding, int horizontal_padding,       \
     int vertical_stride, int horizontal_stride))                                             \
  X(cudnnStatus_t, cudnnPoolingForward,                                                       \
    (cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,               \
     cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,                       \
     cudnnTensorDescriptor_t y_tensor, void* y))                                              \
  X(cudnnStatus_t, cudnnPoolingBackward,                                                      \
    (cudnnHandle_t handle, cudnnPoolingDescriptor_t pooling, const void* alpha,               \
     cudnnTensorDescriptor_t y_tensor, const void* y, cudnnTensorDescriptor_t dy_tensor,      \
     const void* dy, cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,       \
     cudnnTensorDescriptor_t dx_tensor, void* dx))                                            \
  X(cudnnStatus_t, cudnnCreateLRNDescriptor, (cudnnLRNDescriptor_t * descriptor))             \
  X(cudnnStatus_t, cudnnDestroyLRNDescriptor, (cudnnLRNDescriptor_t descriptor))              \
  X(cudnnStatus_t, cudnnSetLRNDescriptor,                                                     \
    (cudnnLRNDescriptor_t descriptor, unsigned size, double alpha, double beta, double k))    \
  X(cudnnStatus_t, cudnnLRNCrossChannelForward,                                               \
    (cudnnHandle_t handle, cudnnLRNDescriptor_t normalization, cudnnLRNMode_t mode,           \
     const void* alpha, cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,    \
     cudnnTensorDescriptor_t y_tensor, void* y))

}  // namespace deepbench::nvidia
