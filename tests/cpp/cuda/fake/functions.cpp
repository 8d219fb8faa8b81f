// A fake library with every function of every table, each of which returns 0. Copied under the
// names of NVIDIA's libraries, it serves the tests of the loader. versions.cpp replaces some
// functions.
#include "nvidia/cublas.hpp"
#include "nvidia/cublaslt.hpp"
#include "nvidia/cudart.hpp"
#include "nvidia/cudnn.hpp"
#include "nvidia/cusparse.hpp"
#include "nvidia/driver.hpp"
#include "nvidia/nccl.hpp"
#include "nvidia/nvjitlink.hpp"
#include "nvidia/nvml.hpp"
#include "nvidia/nvrtc.hpp"
#include "nvidia/nvtx.hpp"

// The library without some functions, like an old version.
#ifdef DEEPBENCH_FAKE_IS_OLD
#define cublasLtMatmul not_there_yet
#define cudaGraphUpload not_there_either
#define cudnnBackendExecute nor_there
#endif

#define FUNCTION(result, name, parameters)                                         \
  extern "C" __attribute__((weak, visibility("default"))) result name parameters { \
    return static_cast<result>(0);                                                 \
  }

namespace deepbench::nvidia {

DEEPBENCH_NVIDIA_DRIVER_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_DRIVER_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_CUDART_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_CUDART_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_NVRTC_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_NVRTC_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_NVJITLINK_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_NVJITLINK_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_CUBLASLT_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_CUBLASLT_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_CUBLAS_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_CUBLAS_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_CUDNN_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_CUDNN_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_CUSPARSE_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_CUSPARSE_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_NCCL_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_NCCL_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_NVML_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_NVML_OPTIONAL(FUNCTION)
DEEPBENCH_NVIDIA_NVTX_REQUIRED(FUNCTION)
DEEPBENCH_NVIDIA_NVTX_OPTIONAL(FUNCTION)

}  // namespace deepbench::nvidia
