// Shows profilers and simulators where the timed calls begin and end: start and stop of the
// profiler API, and an NVTX range "deepbench" if that library is present.
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
