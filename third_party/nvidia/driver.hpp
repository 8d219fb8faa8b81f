// The functions of CUDA's driver (libcuda.so.1) that deepbench calls: versions, names and the
// loading of built-in kernels. CUDA's run time in the same process owns the contexts.
#pragma once

#include "function_table.hpp"

namespace deepbench::nvidia {

using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUstream = struct CUstream_st*;
using CUkernel = struct CUkern_st*;
using CUcontext = struct CUctx_st*;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;

enum CUresult : int {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_STUB_LIBRARY = 34,
  CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_IMAGE = 200,
  CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
  CUDA_ERROR_OPERATING_SYSTEM = 304,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_ILLEGAL_ADDRESS = 700,
  CUDA_ERROR_LAUNCH_FAILED = 719,
  CUDA_ERROR_NOT_SUPPORTED = 801,
  CUDA_ERROR_SYSTEM_NOT_READY = 802,
  CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
  CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
  CUDA_ERROR_UNKNOWN = 999,
};

enum CUfunction_attribute : int {
  CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0,
  CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1,
  CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3,
  CU_FUNC_ATTRIBUTE_NUM_REGS = 4,
  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
  CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
};

enum CUjit_option : int {
  CU_JIT_INFO_LOG_BUFFER = 3,
  CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
  CU_JIT_ERROR_LOG_BUFFER = 5,
  CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
};

enum CUgraphNodeType : int {
  CU_GRAPH_NODE_TYPE_KERNEL = 0,
};

enum CUlaunchAttributeID : int {
  CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2,
};

struct CUuuid {
  char bytes[16];
};

// The value of an attribute, for the attributes above.
union CUlaunchAttributeValue {
  char pad[64];
  int cooperative;
};

struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  char pad[4];
  CUlaunchAttributeValue value;
};

struct CUlaunchConfig {
  unsigned gridDimX;
  unsigned gridDimY;
  unsigned gridDimZ;
  unsigned blockDimX;
  unsigned blockDimY;
  unsigned blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};

// The launch parameters of a graph's kernel node. `kern` is the kernel if `func` is nullptr.
struct CUDA_KERNEL_NODE_PARAMS_v2 {
  CUfunction func;
  unsigned gridDimX;
  unsigned gridDimY;
  unsigned gridDimZ;
  unsigned blockDimX;
  unsigned blockDimY;
  unsigned blockDimZ;
  unsigned sharedMemBytes;
  void** kernelParams;
  void** extra;
  CUkernel kern;
  CUcontext ctx;
};

#define DEEPBENCH_NVIDIA_DRIVER_REQUIRED(X)                                                        \
  X(CUresult, cuInit, (unsigned flags))                                                            \
  X(CUresult, cuDriverGetVersion, (int* version))                                                  \
  X(CUresult, cuDeviceGetCount, (int* count))                                                      \
  X(CUresult, cuDeviceGet, (CUdevice * device, int ordinal))                                       \
  X(CUresult, cuDeviceGetName, (char* name, int length, CUdevice device))                          \
  X(CUresult, cuModuleLoadData, (CUmodule * module, const void* image))                            \
  X(CUresult, cuModuleLoadDataEx,                                                                  \
    (CUmodule * module, const void* image, unsigned count, CUjit_option* options, void** values))  \
  X(CUresult, cuModuleUnload, (CUmodule module))                                                   \
  X(CUresult, cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name))     \
  X(CUresult, cuFuncGetAttribute,                                                                  \
    (int* value, CUfunction_attribute attribute, CUfunction function))                             \
  X(CUresult, cuFuncSetAttribute,                                                                  \
    (CUfunction function, CUfunction_attribute attribute, int value))                              \
  X(CUresult, cuLaunchKernel,                                                                      \
    (CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,     \
     unsigned block_y, unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments, \
     void** extra))                                                                                \
  X(CUresult, cuGetErrorName, (CUresult error, const char** name))                                 \
  X(CUresult, cuGetErrorString, (CUresult error, const char** text))

#define DEEPBENCH_NVIDIA_DRIVER_OPTIONAL(X)                                                       \
  X(CUresult, cuDeviceGetUuid_v2, (CUuuid * uuid, CUdevice device))                               \
  X(CUresult, cuMemsetD32Async, (CUdeviceptr data, unsigned word, size_t words, CUstream stream)) \
  X(CUresult, cuGraphGetNodes, (CUgraph graph, CUgraphNode * nodes, size_t * count))              \
  X(CUresult, cuGraphNodeGetType, (CUgraphNode node, CUgraphNodeType * type))                     \
  X(CUresult, cuGraphKernelNodeGetParams_v2,                                                      \
    (CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2 * parameters))                                  \
  X(CUresult, cuFuncGetName, (const char** name, CUfunction function))                            \
  X(CUresult, cuKernelGetName, (const char** name, CUkernel kernel))                              \
  X(CUresult, cuLaunchKernelEx,                                                                   \
    (const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra))          \
  X(CUresult, cuOccupancyMaxActiveBlocksPerMultiprocessor,                                        \
    (int* blocks, CUfunction function, int block_size, size_t shared_bytes))

DEEPBENCH_NVIDIA_TABLE(Driver, DEEPBENCH_NVIDIA_DRIVER_REQUIRED, DEEPBENCH_NVIDIA_DRIVER_OPTIONAL);

}  // namespace deepbench::nvidia
