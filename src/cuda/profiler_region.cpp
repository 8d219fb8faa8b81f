// Calls the markers of profilers.
#include "profiler_region.hpp"

#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

const nvidia::Nvtx* nvtx() {
  return report<nvidia::Nvtx>().usable() ? &api<nvidia::Nvtx>() : nullptr;
}

}  // namespace

ProfilerRegion::ProfilerRegion() {
  CUDA_CHECK(cudart().cudaProfilerStart());
  if (nvtx()) nvtx()->nvtxRangePushA("deepbench");
}

ProfilerRegion::~ProfilerRegion() {
  if (nvtx()) nvtx()->nvtxRangePop();
  cudart().cudaProfilerStop();
}

}  // namespace deepbench::cuda
