// nvJitLink, libnvJitLink.so.12 and .13: cuSPARSE cannot be loaded without it. We only ask which.
#pragma once

#include "table.hpp"

namespace deepbench::nvidia {

enum nvJitLinkResult : int { NVJITLINK_SUCCESS = 0 };

#define DEEPBENCH_NVIDIA_NVJITLINK_REQUIRED(X) \
  X(nvJitLinkResult, nvJitLinkVersion, (unsigned* major, unsigned* minor))

#define DEEPBENCH_NVIDIA_NVJITLINK_OPTIONAL(X)

DEEPBENCH_NVIDIA_TABLE(NvJitLink, DEEPBENCH_NVIDIA_NVJITLINK_REQUIRED,
                       DEEPBENCH_NVIDIA_NVJITLINK_OPTIONAL);

}  // namespace deepbench::nvidia
