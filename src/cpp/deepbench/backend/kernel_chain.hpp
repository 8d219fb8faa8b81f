// A chain of kernels (plugin_chain.h): which copy each of its calls takes, and the part of its
// kernel that is the same in every backend. Header-only, for backends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "deepbench/plugin.hpp"

namespace deepbench::plugin {

// One call of a chain. `LinkedKernel` is the backend's class of kernels that can take part. It has
// copies(), the number of its copies, and last_copy(), the one that verification reads.
template <class LinkedKernel>
struct ChainStep {
  LinkedKernel* kernel;
  uint64_t copy;
};

// The calls of a chain. Successive calls of a kernel take successive copies, and the last one takes
// last_copy(), so that verification reads what it wrote. Throws unsupported for a kernel of another
// class.
template <class LinkedKernel>
std::vector<ChainStep<LinkedKernel>> chain_steps(const std::vector<Kernel*>& kernels) {
  std::vector<ChainStep<LinkedKernel>> steps(kernels.size());
  std::map<const LinkedKernel*, uint64_t> later;  // calls of each kernel that follow
  for (size_t i = kernels.size(); i-- > 0;) {
    auto* const kernel = dynamic_cast<LinkedKernel*>(kernels[i]);
    if (!kernel)
      unsupported("call " + std::to_string(i + 1) + " of the chain cannot be linked with others");
    const uint64_t copies = kernel->copies();
    steps[i] = {kernel, (kernel->last_copy() + copies - later[kernel]++ % copies) % copies};
  }
  return steps;
}

// A chain has no outputs besides those of its kernels. `TimedKernel` is the backend's class that
// times calls.
template <class TimedKernel>
class KernelChain : public TimedKernel {
 public:
  using TimedKernel::TimedKernel;

  void poison_outputs() final { refuse(); }
  void read_output(uint32_t, const uint64_t*, size_t, double*) final { refuse(); }
  void scan_output(uint32_t, deepbench_scan&) final { refuse(); }
  void project_output(uint32_t, uint64_t, uint64_t, double*) final { refuse(); }

 private:
  [[noreturn]] static void refuse() { invalid("a chain has no outputs of its own"); }
};

}  // namespace deepbench::plugin
