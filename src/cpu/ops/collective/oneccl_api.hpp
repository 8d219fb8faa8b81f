// Calls oneCCL without its header. oneCCL has no C interface: this file calls its C++ functions by
// their mangled names and treats objects of its classes as opaque memory.
#pragma once

#include <cstdint>

#include "deepbench/backend/ranks.hpp"
#include "deepbench/ops/collective/collective.hpp"
#include "implementation.hpp"

namespace deepbench::cpu {

// A communicator of all ranks.
class OneCcl {
 public:
  virtual ~OneCcl() = default;
  // Makes the collective's call (oneccl_function()) and waits for its events. If the collective has
  // one array, `input` and `result` are the same. Passes on the exceptions of oneCCL.
  virtual void call(const Collective& collective, const void* input, void* result) = 0;
};

// The function that computes the collective: "ccl::allreduce".
const char* oneccl_function(CollectiveKind kind);
// Throws unsupported if the library lacks the function, as some releases before 2021.14 do.
void require_oneccl_function(CollectiveKind kind);

LibraryFacts oneccl_facts();

// Creates the communicator at the first call, which all ranks make at the same time; it is never
// destroyed. Sets the environment variables of oneCCL and libfabric that the user has not set.
OneCcl& oneccl(const plugin::Ranks& ranks);

}  // namespace deepbench::cpu
