// Binds the calling thread.
#include "affinity.hpp"

#include "deepbench/core/affinity.hpp"

namespace deepbench::cpu {

void bind_this_thread(int cpu) { set_affinity({cpu}); }

ScopedAffinity::ScopedAffinity(const std::vector<int>& cpus) : before_(read_affinity()) {
  set_affinity(cpus);
  during_ = read_affinity();
}

ScopedAffinity::~ScopedAffinity() {
  if (read_affinity() == during_) set_affinity(before_);
}

}  // namespace deepbench::cpu
