// What control groups leave us of the machine: the processor quota and the memory limit, of
// version 1 and version 2 hierarchies, and the memory that is free below both.
#pragma once

#include <cstdint>

#include "system_files.hpp"

namespace deepbench::cpu {

struct CgroupLimits {
  double cores = 0;               // processor time per time; 0: no quota
  int64_t memory_bytes = 0;       // 0: no limit
  int64_t memory_used_bytes = 0;  // in the group that sets the limit, reclaimable pages left out
};

// The tightest limits of this process' groups and all their ancestors that can be seen.
CgroupLimits read_cgroup_limits(const SystemRoot& root = {});

struct MemoryState {
  int64_t total_bytes = 0;      // of the machine, or the group's limit if that is less
  int64_t available_bytes = 0;  // that can be allocated now without swapping or being killed
};

MemoryState read_memory(const SystemRoot& root = {});

}  // namespace deepbench::cpu
