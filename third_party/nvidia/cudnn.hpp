// What we call of cuDNN 9: versions, handles and the descriptors of its graph interface.
#pragma once

#include "cudart.hpp"
#include "properties.hpp"

namespace deepbench::nvidia {

using cudnnHandle_t = struct cudnnContext*;
using cudnnBackendDescriptor_t = void*;

// Thousands are the kind of error: 1 no start, 2 our mistake, 3 unsupported, 4 its own, 5 the run.
enum cudnnStatus_t : int {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_NOT_INITIALIZED = 1001,
  CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH = 1002,
  CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED = 1008,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000,
  CUDNN_STATUS_INTERNAL_ERROR = 4000,
  CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED = 4003,
  CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED = 4004,
  CUDNN_STATUS_EXECUTION_FAILED = 5000,
};

enum cudnnBackendDescriptorType_t : int {
  CUDNN_BACKEND_POINTWISE_DESCRIPTOR = 0,
  CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR = 1,
  CUDNN_BACKEND_ENGINE_DESCRIPTOR = 2,
  CUDNN_BACKEND_ENGINECFG_DESCRIPTOR = 3,
  CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR = 4,
  CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR = 5,
};

// The lists grow with the operations that use them.
enum cudnnBackendAttributeName_t : int {
  CUDNN_ATTR_POINTWISE_MODE = 0,
};

enum cudnnBackendAttributeType_t : int {
  CUDNN_TYPE_HANDLE = 0,
  CUDNN_TYPE_DATA_TYPE = 1,
};

#define DEEPBENCH_NVIDIA_CUDNN_REQUIRED(X)                                                \
  X(size_t, cudnnGetVersion, ())                                                          \
  X(size_t, cudnnGetCudartVersion, ())                                                    \
  X(cudnnStatus_t, cudnnGetProperty, (libraryPropertyType property, int* value))          \
  X(const char*, cudnnGetErrorString, (cudnnStatus_t status))                             \
  X(cudnnStatus_t, cudnnCreate, (cudnnHandle_t * handle))                                 \
  X(cudnnStatus_t, cudnnDestroy, (cudnnHandle_t handle))                                  \
  X(cudnnStatus_t, cudnnSetStream, (cudnnHandle_t handle, cudaStream_t stream))           \
  X(cudnnStatus_t, cudnnBackendCreateDescriptor,                                          \
    (cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t * descriptor))           \
  X(cudnnStatus_t, cudnnBackendDestroyDescriptor, (cudnnBackendDescriptor_t descriptor))  \
  X(cudnnStatus_t, cudnnBackendSetAttribute,                                              \
    (cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,               \
     cudnnBackendAttributeType_t type, int64_t count, const void* values))                \
  X(cudnnStatus_t, cudnnBackendGetAttribute,                                              \
    (cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,               \
     cudnnBackendAttributeType_t type, int64_t requested, int64_t * count, void* values)) \
  X(cudnnStatus_t, cudnnBackendFinalize, (cudnnBackendDescriptor_t descriptor))           \
  X(cudnnStatus_t, cudnnBackendExecute,                                                   \
    (cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t variants))

#define DEEPBENCH_NVIDIA_CUDNN_OPTIONAL(X) \
  X(void, cudnnGetLastErrorString, (char* text, size_t bytes))

DEEPBENCH_NVIDIA_TABLE(Cudnn, DEEPBENCH_NVIDIA_CUDNN_REQUIRED, DEEPBENCH_NVIDIA_CUDNN_OPTIONAL);

}  // namespace deepbench::nvidia
