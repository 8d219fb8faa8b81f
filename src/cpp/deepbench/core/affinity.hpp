// The processors (hardware threads) that the calling thread may run on. Header-only, shared by the
// core and the backends.
#pragma once

#include <vector>

#if defined(__linux__)
#include <sched.h>

#include <algorithm>
#endif

namespace deepbench {

#if defined(__linux__)

// The calling thread's affinity mask, in ascending order; empty if the system does not report it.
inline std::vector<int> read_affinity() {
  std::vector<int> processors;
  for (int size = CPU_SETSIZE; size <= 1 << 20; size *= 4) {  // larger machines need larger masks
    cpu_set_t* mask = CPU_ALLOC(size_t(size));
    if (!mask) break;
    const size_t bytes = CPU_ALLOC_SIZE(size_t(size));
    const bool read = sched_getaffinity(0, bytes, mask) == 0;
    for (int cpu = 0; read && cpu < size; ++cpu)
      if (CPU_ISSET_S(size_t(cpu), bytes, mask)) processors.push_back(cpu);
    CPU_FREE(mask);
    if (read) break;
  }
  return processors;
}

// Restricts the calling thread to these processors, as far as the system permits. An empty list
// changes nothing.
inline void set_affinity(const std::vector<int>& processors) {
  if (processors.empty()) return;
  const int size =
      std::max(CPU_SETSIZE, 1 + *std::max_element(processors.begin(), processors.end()));
  cpu_set_t* mask = CPU_ALLOC(size_t(size));
  if (!mask) return;
  const size_t bytes = CPU_ALLOC_SIZE(size_t(size));
  CPU_ZERO_S(bytes, mask);
  for (const int cpu : processors) CPU_SET_S(size_t(cpu), bytes, mask);
  sched_setaffinity(0, bytes, mask);
  CPU_FREE(mask);
}

#else

inline std::vector<int> read_affinity() { return {}; }
inline void set_affinity(const std::vector<int>&) {}

#endif

}  // namespace deepbench
