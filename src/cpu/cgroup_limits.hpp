// The limits of control groups, version 1 and version 2: the processor quota and the memory limit
// of this process, and the memory that is available within them.
#pragma once

#include <cstdint>

#include "system_files.hpp"

namespace deepbench::cpu {

struct CgroupLimits {
  double cores = 0;          // processor time per wall-clock time; 0: no quota
  int64_t memory_bytes = 0;  // 0: no limit
  // Used by the group that sets the limit, without reclaimable pages.
  int64_t memory_used_bytes = 0;
};

// The tightest limits of this process's groups and of all visible ancestors.
CgroupLimits read_cgroup_limits(const SystemRoot& root = {});

struct MemoryState {
  int64_t total_bytes = 0;  // memory of the machine, or the group's limit if it is lower
  // Memory that can be allocated now without swapping and without the out-of-memory killer.
  int64_t available_bytes = 0;
};

MemoryState read_memory(const SystemRoot& root = {});

}  // namespace deepbench::cpu
