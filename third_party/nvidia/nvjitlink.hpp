// nvJitLink, libnvJitLink.so.12 and .13: cuSPARSE cannot be loaded without it. We only ask
// which, and before CUDA 12.3 it does not tell.
#pragma once

#include "function_table.hpp"

namespace deepbench::nvidia {

enum nvJitLinkResult : int { NVJITLINK_SUCCESS = 0 };

#define DEEPBENCH_NVIDIA_NVJITLINK_REQUIRED(X)

#define DEEPBENCH_NVIDIA_NVJITLINK_OPTIONAL(X) \
  X(nvJitLinkResult, nvJitLinkVersion, (unsigned* major, unsigned* minor))

DEEPBENCH_NVIDIA_TABLE(NvJitLink, DEEPBENCH_NVIDIA_NVJITLINK_REQUIRED,
                       DEEPBENCH_NVIDIA_NVJITLINK_OPTIONAL);

}  // namespace deepbench::nvidia
