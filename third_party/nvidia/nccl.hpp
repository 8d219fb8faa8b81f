// What we call of NCCL, libnccl.so.2: versions and the id that ranks meet by.
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

struct ncclUniqueId {
  char internal[128];
};

#define DEEPBENCH_NVIDIA_NCCL_REQUIRED(X)                              \
  X(ncclResult_t, ncclGetVersion, (int* version))                      \
  X(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id))                \
  X(const char*, ncclGetErrorString, (ncclResult_t result))            \
  X(ncclResult_t, ncclCommInitRank,                                    \
    (ncclComm_t * communicator, int ranks, ncclUniqueId id, int rank)) \
  X(ncclResult_t, ncclCommDestroy, (ncclComm_t communicator))          \
  X(ncclResult_t, ncclCommAbort, (ncclComm_t communicator))            \
  X(ncclResult_t, ncclCommGetAsyncError, (ncclComm_t communicator, ncclResult_t * e))

#define DEEPBENCH_NVIDIA_NCCL_OPTIONAL(X) \
  X(const char*, ncclGetLastError, (ncclComm_t communicator))

DEEPBENCH_NVIDIA_TABLE(Nccl, DEEPBENCH_NVIDIA_NCCL_REQUIRED, DEEPBENCH_NVIDIA_NCCL_OPTIONAL);

}  // namespace deepbench::nvidia
