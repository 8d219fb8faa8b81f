// Tells profilers and simulators where the calls of interest begin and end: the profiler API's
// start and stop, and an NVTX range "deepbench" where that library is there.
#pragma once

namespace deepbench::cuda {

class ProfilerRegion {
 public:
  ProfilerRegion();
  ~ProfilerRegion();
  ProfilerRegion(const ProfilerRegion&) = delete;
  ProfilerRegion& operator=(const ProfilerRegion&) = delete;
};

}  // namespace deepbench::cuda
