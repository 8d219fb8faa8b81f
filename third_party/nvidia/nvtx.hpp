// The functions of NVTX that deepbench calls: named ranges, which profilers display. The library is
// libnvtx3interop.so.1 or the older libnvToolsExt.so.1; without them, ranges are omitted and
// everything else works.
#pragma once

#include "function_table.hpp"

namespace deepbench::nvidia {

#define DEEPBENCH_NVIDIA_NVTX_REQUIRED(X)    \
  X(int, nvtxRangePushA, (const char* name)) \
  X(int, nvtxRangePop, ())                   \
  X(void, nvtxMarkA, (const char* name))

#define DEEPBENCH_NVIDIA_NVTX_OPTIONAL(X)

DEEPBENCH_NVIDIA_TABLE(Nvtx, DEEPBENCH_NVIDIA_NVTX_REQUIRED, DEEPBENCH_NVIDIA_NVTX_OPTIONAL);

}  // namespace deepbench::nvidia
