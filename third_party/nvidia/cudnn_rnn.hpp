// cuDNN 9's recurrent layers: one call computes all steps of a sequence.
#pragma once

#include "cudnn_types.hpp"

namespace deepbench::nvidia {

using cudnnTensorDescriptor_t = struct cudnnTensorStruct*;
using cudnnDropoutDescriptor_t = struct cudnnDropoutStruct*;
using cudnnRNNDescriptor_t = struct cudnnRNNStruct*;
using cudnnRNNDataDescriptor_t = struct cudnnRNNDataStruct*;

enum cudnnRNNAlgo_t : int {
  CUDNN_RNN_ALGO_STANDARD = 0,
  CUDNN_RNN_ALGO_PERSIST_STATIC = 1,
  CUDNN_RNN_ALGO_PERSIST_DYNAMIC = 2,
  CUDNN_RNN_ALGO_PERSIST_STATIC_SMALL_H = 3,
};

enum cudnnForwardMode_t : int { CUDNN_FWD_MODE_INFERENCE = 0, CUDNN_FWD_MODE_TRAINING = 1 };

enum cudnnRNNMode_t : int {
  CUDNN_RNN_RELU = 0,
  CUDNN_LSTM = 2,
  CUDNN_GRU = 3,
};

enum cudnnRNNBiasMode_t : int { CUDNN_RNN_SINGLE_INP_BIAS = 1, CUDNN_RNN_DOUBLE_BIAS = 2 };

enum cudnnDirectionMode_t : int { CUDNN_UNIDIRECTIONAL = 0 };

enum cudnnRNNInputMode_t : int { CUDNN_SKIP_INPUT = 1 };

enum cudnnRNNDataLayout_t : int { CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED = 1 };

enum cudnnWgradMode_t : int { CUDNN_WGRAD_MODE_ADD = 0 };

#define DEEPBENCH_NVIDIA_CUDNN_RNN_REQUIRED(X)                                                    \
  X(cudnnStatus_t, cudnnCreateTensorDescriptor, (cudnnTensorDescriptor_t * descriptor))           \
  X(cudnnStatus_t, cudnnDestroyTensorDescriptor, (cudnnTensorDescriptor_t descriptor))            \
  X(cudnnStatus_t, cudnnSetTensorNdDescriptor,                                                    \
    (cudnnTensorDescriptor_t descriptor, cudnnDataType_t type, int dimensions, const int* sizes,  \
     const int* strides))                                                                         \
  X(cudnnStatus_t, cudnnCreateDropoutDescriptor, (cudnnDropoutDescriptor_t * descriptor))         \
  X(cudnnStatus_t, cudnnDestroyDropoutDescriptor, (cudnnDropoutDescriptor_t descriptor))          \
  X(cudnnStatus_t, cudnnSetDropoutDescriptor,                                                     \
    (cudnnDropoutDescriptor_t descriptor, cudnnHandle_t handle, float dropout, void* states,      \
     size_t state_bytes, unsigned long long seed))                                                \
  X(cudnnStatus_t, cudnnCreateRNNDescriptor, (cudnnRNNDescriptor_t * descriptor))                 \
  X(cudnnStatus_t, cudnnDestroyRNNDescriptor, (cudnnRNNDescriptor_t descriptor))                  \
  X(cudnnStatus_t, cudnnSetRNNDescriptor_v8,                                                      \
    (cudnnRNNDescriptor_t descriptor, cudnnRNNAlgo_t algorithm, cudnnRNNMode_t cell,              \
     cudnnRNNBiasMode_t biases, cudnnDirectionMode_t direction, cudnnRNNInputMode_t input,        \
     cudnnDataType_t data_type, cudnnDataType_t math_precision, cudnnMathType_t math_type,        \
     int32_t input_size, int32_t hidden_size, int32_t projection_size, int32_t layers,            \
     cudnnDropoutDescriptor_t dropout, uint32_t flags))                                           \
  X(cudnnStatus_t, cudnnBuildRNNDynamic,                                                          \
    (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int batch))                           \
  X(cudnnStatus_t, cudnnCreateRNNDataDescriptor, (cudnnRNNDataDescriptor_t * descriptor))         \
  X(cudnnStatus_t, cudnnDestroyRNNDataDescriptor, (cudnnRNNDataDescriptor_t descriptor))          \
  X(cudnnStatus_t, cudnnSetRNNDataDescriptor,                                                     \
    (cudnnRNNDataDescriptor_t descriptor, cudnnDataType_t type, cudnnRNNDataLayout_t layout,      \
     int longest, int batch, int vector_size, const int* lengths, void* padding))                 \
  X(cudnnStatus_t, cudnnGetRNNTempSpaceSizes,                                                     \
    (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, cudnnForwardMode_t mode,              \
     cudnnRNNDataDescriptor_t x, size_t * workspace_bytes, size_t * reserve_bytes))               \
  X(cudnnStatus_t, cudnnGetRNNWeightSpaceSize,                                                    \
    (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, size_t * bytes))                      \
  X(cudnnStatus_t, cudnnGetRNNWeightParams,                                                       \
    (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, int32_t layer, size_t weight_bytes,   \
     const void* weights, int32_t linear_layer, cudnnTensorDescriptor_t matrix_descriptor,        \
     void** matrix, cudnnTensorDescriptor_t bias_descriptor, void** bias))                        \
  X(cudnnStatus_t, cudnnRNNForward,                                                               \
    (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, cudnnForwardMode_t mode,              \
     const int32_t* device_lengths, cudnnRNNDataDescriptor_t x_descriptor, const void* x,         \
     cudnnRNNDataDescriptor_t y_descriptor, void* y, cudnnTensorDescriptor_t h_descriptor,        \
     const void* hx, void* hy, cudnnTensorDescriptor_t c_descriptor, const void* cx, void* cy,    \
     size_t weight_bytes, const void* weights, size_t workspace_bytes, void* workspace,           \
     size_t reserve_bytes, void* reserve))                                                        \
  X(cudnnStatus_t, cudnnRNNBackwardData_v8,                                                       \
    (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, const int32_t* device_lengths,        \
     cudnnRNNDataDescriptor_t y_descriptor, const void* y, const void* dy,                        \
     cudnnRNNDataDescriptor_t x_descriptor, void* dx, cudnnTensorDescriptor_t h_descriptor,       \
     const void* hx, const void* dhy, void* dhx, cudnnTensorDescriptor_t c_descriptor,            \
     const void* cx, const void* dcy, void* dcx, size_t weight_bytes, const void* weights,        \
     size_t workspace_bytes, void* workspace, size_t reserve_bytes, void* reserve))               \
  X(cudnnStatus_t, cudnnRNNBackwardWeights_v8,                                                    \
    (cudnnHandle_t handle, cudnnRNNDescriptor_t descriptor, cudnnWgradMode_t mode,                \
     const int32_t* device_lengths, cudnnRNNDataDescriptor_t x_descriptor, const void* x,         \
     cudnnTensorDescriptor_t h_descriptor, const void* hx, cudnnRNNDataDescriptor_t y_descriptor, \
     const void* y, size_t weight_bytes, void* dweights, size_t workspace_bytes, void* workspace, \
     size_t reserve_bytes, void* reserve))

}  // namespace deepbench::nvidia
