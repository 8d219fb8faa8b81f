// The functions of NCCL (libnccl.so.2) that deepbench calls: communicators, which ranks create from
// an exchanged id, and collectives.
#pragma once

#include "cudart.hpp"

namespace deepbench::nvidia {

using ncclComm_t = struct ncclComm*;

enum ncclResult_t : int {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};

enum ncclDataType_t : int { ncclFloat16 = 6, ncclFloat32 = 7, ncclBfloat16 = 9 };
enum ncclRedOp_t : int { ncclSum = 0 };

struct ncclUniqueId {
  char internal[128];
};

#define DEEPBENCH_NVIDIA_NCCL_REQUIRED(X)                                                      \
  X(ncclResult_t, ncclGetVersion, (int* version))                                              \
  X(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id))                                        \
  X(const char*, ncclGetErrorString, (ncclResult_t result))                                    \
  X(ncclResult_t, ncclCommInitRank,                                                            \
    (ncclComm_t * communicator, int ranks, ncclUniqueId id, int rank))                         \
  X(ncclResult_t, ncclCommInitAll, (ncclComm_t * communicators, int devices, const int* list)) \
  X(ncclResult_t, ncclCommDestroy, (ncclComm_t communicator))                                  \
  X(ncclResult_t, ncclCommAbort, (ncclComm_t communicator))                                    \
  X(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t communicator, ncclResult_t * e))          \
  X(ncclResult_t, ncclAllReduce,                                                               \
    (const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,     \
     ncclComm_t communicator, cudaStream_t stream))                                            \
  X(ncclResult_t, ncclAllGather,                                                               \
    (const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t communicator,   \
     cudaStream_t stream))                                                                     \
  X(ncclResult_t, ncclReduceScatter,                                                           \
    (const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,     \
     ncclComm_t communicator, cudaStream_t stream))                                            \
  X(ncclResult_t, ncclBroadcast,                                                               \
    (const void* from, void* to, size_t count, ncclDataType_t type, int root,                  \
     ncclComm_t communicator, cudaStream_t stream))                                            \
  X(ncclResult_t, ncclSend,                                                                    \
    (const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,   \
     cudaStream_t stream))                                                                     \
  X(ncclResult_t, ncclRecv,                                                                    \
    (void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t communicator,           \
     cudaStream_t stream))                                                                     \
  X(ncclResult_t, ncclGroupStart, ())                                                          \
  X(ncclResult_t, ncclGroupEnd, ())

#define DEEPBENCH_NVIDIA_NCCL_OPTIONAL(X)                                                    \
  X(const char*, ncclGetLastError, (ncclComm_t communicator))                                \
  X(ncclResult_t, ncclAlltoAll,                                                              \
    (const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t communicator, \
     cudaStream_t stream))

DEEPBENCH_NVIDIA_TABLE(Nccl, DEEPBENCH_NVIDIA_NCCL_REQUIRED, DEEPBENCH_NVIDIA_NCCL_OPTIONAL);

}  // namespace deepbench::nvidia
