// Which hardware threads the calling thread may run on.
#pragma once

#include <vector>

namespace deepbench::cpu {

// Binds the calling thread to one hardware thread. Where that is refused it stays as it was.
void bind_this_thread(int cpu);

// The calling thread may run on all of `cpus` for the lifetime of this object; then as before.
class ScopedAffinity {
 public:
  explicit ScopedAffinity(const std::vector<int>& cpus);
  ~ScopedAffinity();
  ScopedAffinity(const ScopedAffinity&) = delete;
  ScopedAffinity& operator=(const ScopedAffinity&) = delete;

 private:
  std::vector<int> before_;
};

}  // namespace deepbench::cpu
