// The functions of CUDA's run time (libcudart.so.12 and .13) that deepbench calls. It excludes
// functions whose unversioned name has different meanings in the two majors:
// cudaGetDeviceProperties, cudaStreamGetCaptureInfo, cudaGraphAddDependencies and similar
// functions, cudaMemAdvise, cudaMemPrefetchAsync and cudaMemcpyBatchAsync.
#pragma once

#include "function_table.hpp"

namespace deepbench::nvidia {

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
using cudaMemPool_t = struct CUmemPoolHandle_st*;
struct cudaIpcMemHandle_t {
  char reserved[64];
};
struct cudaMemLocation {
  int type;
  int id;
};
struct cudaMemPoolProps {
  int allocType;
  int handleTypes;
  cudaMemLocation location;
  void* win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};

enum cudaError_t : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorCudartUnloading = 4,
  cudaErrorStubLibrary = 34,
  cudaErrorInsufficientDriver = 35,
  cudaErrorCallRequiresNewerDriver = 36,
  cudaErrorDevicesUnavailable = 46,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorDeviceUninitialized = 201,
  cudaErrorNoKernelImageForDevice = 209,
  cudaErrorECCUncorrectable = 214,
  cudaErrorNvlinkUncorrectable = 220,
  cudaErrorContained = 226,
  cudaErrorOperatingSystem = 304,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchOutOfResources = 701,
  cudaErrorLaunchTimeout = 702,
  cudaErrorPeerAccessAlreadyEnabled = 704,
  cudaErrorContextIsDestroyed = 709,
  cudaErrorAssert = 710,
  cudaErrorHardwareStackError = 714,
  cudaErrorIllegalInstruction = 715,
  cudaErrorMisalignedAddress = 716,
  cudaErrorInvalidAddressSpace = 717,
  cudaErrorInvalidPc = 718,
  cudaErrorLaunchFailure = 719,
  cudaErrorTensorMemoryLeak = 721,
  cudaErrorNotPermitted = 800,
  cudaErrorNotSupported = 801,
  cudaErrorSystemNotReady = 802,
  cudaErrorSystemDriverMismatch = 803,
  cudaErrorCompatNotSupportedOnDevice = 804,
  cudaErrorMpsConnectionFailed = 805,
  cudaErrorMpsRpcFailure = 806,
  cudaErrorMpsServerNotReady = 807,
  cudaErrorMpsClientTerminated = 810,
  cudaErrorStreamCaptureUnsupported = 900,
  cudaErrorStreamCaptureInvalidated = 901,
  cudaErrorStreamCaptureImplicit = 906,
  cudaErrorExternalDevice = 911,
  cudaErrorUnknown = 999,
};

enum cudaDeviceAttr : int {
  cudaDevAttrClockRate = 13,  // kHz
  cudaDevAttrMultiProcessorCount = 16,
  cudaDevAttrIntegrated = 18,
  cudaDevAttrComputeMode = 20,
  cudaDevAttrEccEnabled = 32,
  cudaDevAttrMemoryClockRate = 36,       // kHz
  cudaDevAttrGlobalMemoryBusWidth = 37,  // bits
  cudaDevAttrL2CacheSize = 38,           // bytes
  cudaDevAttrMaxThreadsPerMultiProcessor = 39,
  cudaDevAttrAsyncEngineCount = 40,
  cudaDevAttrComputeCapabilityMajor = 75,
  cudaDevAttrComputeCapabilityMinor = 76,
  cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
  cudaDevAttrMaxRegistersPerMultiprocessor = 82,
  cudaDevAttrCooperativeLaunch = 95,
  cudaDevAttrMaxSharedMemoryPerBlockOptin = 97,
  cudaDevAttrMemoryPoolsSupported = 115,
};

// The value of each attribute is a uint64_t number of bytes.
enum cudaMemPoolAttr : int {
  cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5,
  cudaMemPoolAttrUsedMemCurrent = 7,
};

enum : int { cudaMemAllocationTypePinned = 1 };
enum : int { cudaMemLocationTypeDevice = 1 };

enum cudaMemcpyKind : int {
  cudaMemcpyHostToHost = 0,
  cudaMemcpyHostToDevice = 1,
  cudaMemcpyDeviceToHost = 2,
  cudaMemcpyDeviceToDevice = 3,
  cudaMemcpyDefault = 4,
};

enum cudaStreamCaptureMode : int {
  cudaStreamCaptureModeGlobal = 0,
  cudaStreamCaptureModeThreadLocal = 1,
  cudaStreamCaptureModeRelaxed = 2,
};

enum cudaStreamCaptureStatus : int {
  cudaStreamCaptureStatusNone = 0,
  cudaStreamCaptureStatusActive = 1,
  cudaStreamCaptureStatusInvalidated = 2,
};

enum : unsigned { cudaStreamDefault = 0, cudaStreamNonBlocking = 1 };
enum : unsigned { cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2 };
enum : unsigned { cudaEventRecordDefault = 0, cudaEventRecordExternal = 1 };
enum : unsigned { cudaIpcMemLazyEnablePeerAccess = 1 };

#define DEEPBENCH_NVIDIA_CUDART_REQUIRED(X)                                                       \
  X(cudaError_t, cudaGetDeviceCount, (int* count))                                                \
  X(cudaError_t, cudaSetDevice, (int device))                                                     \
  X(cudaError_t, cudaGetDevice, (int* device))                                                    \
  X(cudaError_t, cudaDeviceGetAttribute, (int* value, cudaDeviceAttr attribute, int device))      \
  X(cudaError_t, cudaDeviceGetPCIBusId, (char* id, int length, int device))                       \
  X(cudaError_t, cudaDeviceGetByPCIBusId, (int* device, const char* id))                          \
  X(cudaError_t, cudaDeviceCanAccessPeer, (int* can, int device, int peer))                       \
  X(cudaError_t, cudaDeviceSynchronize, ())                                                       \
  X(cudaError_t, cudaDeviceReset, ())                                                             \
  X(cudaError_t, cudaMemGetInfo, (size_t * free_bytes, size_t * total_bytes))                     \
  X(cudaError_t, cudaMalloc, (void** data, size_t bytes))                                         \
  X(cudaError_t, cudaFree, (void* data))                                                          \
  X(cudaError_t, cudaMallocAsync, (void** data, size_t bytes, cudaStream_t stream))               \
  X(cudaError_t, cudaFreeAsync, (void* data, cudaStream_t stream))                                \
  X(cudaError_t, cudaMallocFromPoolAsync,                                                         \
    (void** data, size_t bytes, cudaMemPool_t pool, cudaStream_t stream))                         \
  X(cudaError_t, cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device))                 \
  X(cudaError_t, cudaMemPoolCreate, (cudaMemPool_t * pool, const cudaMemPoolProps* properties))   \
  X(cudaError_t, cudaMemPoolDestroy, (cudaMemPool_t pool))                                        \
  X(cudaError_t, cudaMemPoolSetAttribute,                                                         \
    (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value))                                 \
  X(cudaError_t, cudaMemPoolGetAttribute,                                                         \
    (cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value))                                 \
  X(cudaError_t, cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t bytes_to_keep))                   \
  X(cudaError_t, cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void* data))                  \
  X(cudaError_t, cudaIpcOpenMemHandle, (void** data, cudaIpcMemHandle_t handle, unsigned flags))  \
  X(cudaError_t, cudaIpcCloseMemHandle, (void* data))                                             \
  X(cudaError_t, cudaMallocHost, (void** data, size_t bytes))                                     \
  X(cudaError_t, cudaFreeHost, (void* data))                                                      \
  X(cudaError_t, cudaMemcpyAsync,                                                                 \
    (void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream))         \
  X(cudaError_t, cudaMemcpy2DAsync,                                                               \
    (void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, \
     cudaMemcpyKind kind, cudaStream_t stream))                                                   \
  X(cudaError_t, cudaMemsetAsync, (void* data, int value, size_t bytes, cudaStream_t stream))     \
  X(cudaError_t, cudaMemset2DAsync,                                                               \
    (void* data, size_t pitch, int value, size_t width, size_t height, cudaStream_t stream))      \
  X(cudaError_t, cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned flags))              \
  X(cudaError_t, cudaStreamDestroy, (cudaStream_t stream))                                        \
  X(cudaError_t, cudaStreamSynchronize, (cudaStream_t stream))                                    \
  X(cudaError_t, cudaStreamQuery, (cudaStream_t stream))                                          \
  X(cudaError_t, cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned flags))   \
  X(cudaError_t, cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode))       \
  X(cudaError_t, cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t * graph))                \
  X(cudaError_t, cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus * status))  \
  X(cudaError_t, cudaGraphInstantiateWithFlags,                                                   \
    (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags))                  \
  X(cudaError_t, cudaGraphUpload, (cudaGraphExec_t executable, cudaStream_t stream))              \
  X(cudaError_t, cudaGraphLaunch, (cudaGraphExec_t executable, cudaStream_t stream))              \
  X(cudaError_t, cudaGraphExecDestroy, (cudaGraphExec_t executable))                              \
  X(cudaError_t, cudaGraphDestroy, (cudaGraph_t graph))                                           \
  X(cudaError_t, cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned flags))                 \
  X(cudaError_t, cudaEventDestroy, (cudaEvent_t event))                                           \
  X(cudaError_t, cudaEventRecord, (cudaEvent_t event, cudaStream_t stream))                       \
  X(cudaError_t, cudaEventRecordWithFlags,                                                        \
    (cudaEvent_t event, cudaStream_t stream, unsigned flags))                                     \
  X(cudaError_t, cudaEventSynchronize, (cudaEvent_t event))                                       \
  X(cudaError_t, cudaEventQuery, (cudaEvent_t event))                                             \
  X(cudaError_t, cudaEventElapsedTime, (float* elapsed_ms, cudaEvent_t begin, cudaEvent_t end))   \
  X(cudaError_t, cudaGetLastError, ())                                                            \
  X(cudaError_t, cudaPeekAtLastError, ())                                                         \
  X(const char*, cudaGetErrorName, (cudaError_t error))                                           \
  X(const char*, cudaGetErrorString, (cudaError_t error))                                         \
  X(cudaError_t, cudaRuntimeGetVersion, (int* version))                                           \
  X(cudaError_t, cudaDriverGetVersion, (int* version))                                            \
  X(cudaError_t, cudaProfilerStart, ())                                                           \
  X(cudaError_t, cudaProfilerStop, ())

// Only the tests call it: opening the memory of another process (cudaIpcOpenMemHandle) enables peer
// access by itself.
#define DEEPBENCH_NVIDIA_CUDART_OPTIONAL(X) \
  X(cudaError_t, cudaDeviceEnablePeerAccess, (int peer, unsigned flags))

DEEPBENCH_NVIDIA_TABLE(Cudart, DEEPBENCH_NVIDIA_CUDART_REQUIRED, DEEPBENCH_NVIDIA_CUDART_OPTIONAL);

}  // namespace deepbench::nvidia
