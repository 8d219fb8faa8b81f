// Binds the calling thread to hardware threads.
#pragma once

#include <vector>

namespace deepbench::cpu {

// Binds the calling thread to one hardware thread. Does nothing if the system refuses.
void bind_this_thread(int cpu);

// Lets the calling thread run on all of `cpus` while this object lives. The destructor restores the
// mask, unless something else changed it meanwhile, as an OpenMP run time does when it is loaded.
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
