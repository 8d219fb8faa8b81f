// cuDNN 9's older calls for batch normalisation. A later major version may lack them.
#pragma once

#include "cudnn_rnn.hpp"
#include "cudnn_types.hpp"

namespace deepbench::nvidia {

enum cudnnBatchNormMode_t : int {
  CUDNN_BATCHNORM_PER_ACTIVATION = 0,
  CUDNN_BATCHNORM_SPATIAL = 1,
  CUDNN_BATCHNORM_SPATIAL_PERSISTENT = 2,
};

#define DEEPBENCH_NVIDIA_CUDNN_NORM_OPTIONAL(X)                                                  \
  X(cudnnStatus_t, cudnnBatchNormalizationForwardTraining,                                       \
    (cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,       \
     cudnnTensorDescriptor_t x_descriptor, const void* x, cudnnTensorDescriptor_t y_descriptor,  \
     void* y, cudnnTensorDescriptor_t parameters, const void* scale, const void* bias,           \
     double average_factor, void* running_mean, void* running_variance, double epsilon,          \
     void* saved_mean, void* saved_inverse_deviation))                                           \
  X(cudnnStatus_t, cudnnBatchNormalizationForwardInference,                                      \
    (cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* alpha, const void* beta,       \
     cudnnTensorDescriptor_t x_descriptor, const void* x, cudnnTensorDescriptor_t y_descriptor,  \
     void* y, cudnnTensorDescriptor_t parameters, const void* scale, const void* bias,           \
     const void* mean, const void* variance, double epsilon))                                    \
  X(cudnnStatus_t, cudnnBatchNormalizationBackward,                                              \
    (cudnnHandle_t handle, cudnnBatchNormMode_t mode, const void* data_alpha,                    \
     const void* data_beta, const void* parameter_alpha, const void* parameter_beta,             \
     cudnnTensorDescriptor_t x_descriptor, const void* x, cudnnTensorDescriptor_t dy_descriptor, \
     const void* dy, cudnnTensorDescriptor_t dx_descriptor, void* dx,                            \
     cudnnTensorDescriptor_t parameters, const void* scale, void* scale_gradient,                \
     void* bias_gradient, double epsilon, const void* saved_mean,                                \
     const void* saved_inverse_deviation))

}  // namespace deepbench::nvidia
