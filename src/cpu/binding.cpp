// Affinity masks.
#include "binding.hpp"

#include <sched.h>

#include <algorithm>

#include "topology.hpp"

namespace deepbench::cpu {
namespace {

// Restricts the calling thread to these hardware threads, as far as the system lets it.
void allow(const std::vector<int>& cpus) {
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

void bind_this_thread(int cpu) { allow({cpu}); }

ScopedAffinity::ScopedAffinity(const std::vector<int>& cpus) : before_(read_affinity()) {
  allow(cpus);
}

ScopedAffinity::~ScopedAffinity() { allow(before_); }

}  // namespace deepbench::cpu
