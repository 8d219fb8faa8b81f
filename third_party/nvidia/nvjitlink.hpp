// nvJitLink (libnvJitLink.so.12 and .13), which cuSPARSE needs. deepbench only queries its version,
// which is available since CUDA 12.3.
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
