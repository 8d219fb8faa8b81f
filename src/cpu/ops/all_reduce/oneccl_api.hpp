// Calls oneCCL without its header. oneCCL has no C interface: this file calls its C++ functions by
// their mangled names and treats objects of its classes as opaque memory.
#pragma once

#include <cstdint>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/fill.h"
#include "implementation.hpp"

namespace deepbench::cpu {

// A communicator of all ranks.
class OneCcl {
 public:
  virtual ~OneCcl() = default;
  // Calls ccl::allreduce and waits for its event; `input` and `result` may be the same. Passes on
  // the exceptions of oneCCL.
  virtual void all_reduce(deepbench_type type, const void* input, void* result, uint64_t count) = 0;
};

LibraryFacts oneccl_facts();

// Creates the communicator at the first call, which all ranks make at the same time; it is never
// destroyed. Sets the environment variables of oneCCL and libfabric that the user has not set.
OneCcl& oneccl(const plugin::Ranks& ranks);

}  // namespace deepbench::cpu
