// Which hardware threads the calling thread may run on.
#pragma once

#include <vector>

namespace deepbench::cpu {

// The calling thread's affinity mask, in ascending order.
std::vector<int> read_affinity();

// Binds the calling thread to one hardware thread. Where that is refused it stays as it was.
void bind_this_thread(int cpu);

// The calling thread may run on all of `cpus` for the lifetime of this object; then as before,
// unless somebody bound it meanwhile, as an OpenMP run time does when it is loaded.
class ScopedAffinity {
 public:
  explicit ScopedAffinity(const std::vector<int>& cpus);
  ~ScopedAffinity();
  ScopedAffinity(const ScopedAffinity&) = delete;
  ScopedAffinity& operator=(const ScopedAffinity&) = delete;

 private:
  std::vector<int> before_, during_;
};

}  // namespace deepbench::cpu
