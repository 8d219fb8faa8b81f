// cuDNN 9's older calls for softmax and activations, which take no graph. cuDNN has deprecated
// those for activations.
#pragma once

#include "cudnn_types.hpp"

namespace deepbench::nvidia {

using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnActivationDescriptor_t = struct cudnnActivationStruct*;

enum cudnnSoftmaxAlgorithm_t : int {
  CUDNN_SOFTMAX_FAST = 0,
  CUDNN_SOFTMAX_ACCURATE = 1,
  CUDNN_SOFTMAX_LOG = 2,
};

enum cudnnSoftmaxMode_t : int { CUDNN_SOFTMAX_MODE_INSTANCE = 0, CUDNN_SOFTMAX_MODE_CHANNEL = 1 };

enum cudnnActivationMode_t : int {
  CUDNN_ACTIVATION_SIGMOID = 0,
  CUDNN_ACTIVATION_RELU = 1,
  CUDNN_ACTIVATION_TANH = 2,
  CUDNN_ACTIVATION_SWISH = 6,
};

#define DEEPBENCH_NVIDIA_CUDNN_OPS_OPTIONAL(X)                                                  \
  X(cudnnStatus_t, cudnnSoftmaxForward,                                                         \
    (cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,          \
     const void* alpha, cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,      \
     cudnnTensorDescriptor_t y_tensor, void* y))                                                \
  X(cudnnStatus_t, cudnnSoftmaxBackward,                                                        \
    (cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t mode,          \
     const void* alpha, cudnnTensorDescriptor_t y_tensor, const void* y,                        \
     cudnnTensorDescriptor_t dy_tensor, const void* dy, const void* beta,                       \
     cudnnTensorDescriptor_t dx_tensor, void* dx))                                              \
  X(cudnnStatus_t, cudnnCreateActivationDescriptor, (cudnnActivationDescriptor_t * descriptor)) \
  X(cudnnStatus_t, cudnnDestroyActivationDescriptor, (cudnnActivationDescriptor_t descriptor))  \
  X(cudnnStatus_t, cudnnSetActivationDescriptor,                                                \
    (cudnnActivationDescriptor_t descriptor, cudnnActivationMode_t mode,                        \
     cudnnNanPropagation_t nan_propagation, double coefficient))                                \
  X(cudnnStatus_t, cudnnSetActivationDescriptorSwishBeta,                                       \
    (cudnnActivationDescriptor_t descriptor, double swish_beta))                                \
  X(cudnnStatus_t, cudnnActivationForward,                                                      \
    (cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void* alpha,           \
     cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,                         \
     cudnnTensorDescriptor_t y_tensor, void* y))                                                \
  X(cudnnStatus_t, cudnnActivationBackward,                                                     \
    (cudnnHandle_t handle, cudnnActivationDescriptor_t activation, const void* alpha,           \
     cudnnTensorDescriptor_t y_tensor, const void* y, cudnnTensorDescriptor_t dy_tensor,        \
     const void* dy, cudnnTensorDescriptor_t x_tensor, const void* x, const void* beta,         \
     cudnnTensorDescriptor_t dx_tensor, void* dx))

}  // namespace deepbench::nvidia
