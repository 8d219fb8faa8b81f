// Reading and setting of affinity masks.
#include "affinity.hpp"

#include <sched.h>

#include <algorithm>

namespace deepbench::cpu {
namespace {

// Restricts the calling thread to these hardware threads, as far as the system permits.
void allow_cpus(const std::vector<int>& cpus) {
  const int size = std::max(CPU_SETSIZE, 1 + *std::max_element(cpus.begin(), cpus.end()));
  cpu_set_t* mask = CPU_ALLOC(size_t(size));
  if (!mask) return;
  const size_t bytes = CPU_ALLOC_SIZE(size_t(size));
  CPU_ZERO_S(bytes, mask);
  for (int cpu : cpus) CPU_SET_S(size_t(cpu), bytes, mask);
  sched_setaffinity(0, bytes, mask);
  CPU_FREE(mask);
}

}  // namespace

std::vector<int> read_affinity() {
  std::vector<int> cpus;
  for (int size = CPU_SETSIZE; size <= 1 << 20; size *= 4) {  // larger machines need larger masks
    cpu_set_t* mask = CPU_ALLOC(size_t(size));
    if (!mask) break;
    const size_t bytes = CPU_ALLOC_SIZE(size_t(size));
    const bool read = sched_getaffinity(0, bytes, mask) == 0;
    for (int cpu = 0; read && cpu < size; ++cpu)
      if (CPU_ISSET_S(size_t(cpu), bytes, mask)) cpus.push_back(cpu);
    CPU_FREE(mask);
    if (read) break;
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

void bind_this_thread(int cpu) { allow_cpus({cpu}); }

ScopedAffinity::ScopedAffinity(const std::vector<int>& cpus) : before_(read_affinity()) {
  allow_cpus(cpus);
  during_ = read_affinity();
}

ScopedAffinity::~ScopedAffinity() {
  if (read_affinity() == during_) allow_cpus(before_);
}

}  // namespace deepbench::cpu
