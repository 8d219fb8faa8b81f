// oneCCL without its header. It has no interface in C: these are its C++ functions by the names
// that the compiler gives them, with objects of its classes as memory that we do not look into.
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
  // ccl::allreduce and its event's wait(); `input` and `result` may be the same. Throws what it
  // throws.
  virtual void all_reduce(deepbench_type type, const void* input, void* result, uint64_t count) = 0;
};

LibraryFacts oneccl_facts();

// Made at the first call, for which all ranks come at the same time; never destroyed. Sets what the
// user has not of the variables that oneCCL and its fabric read.
OneCcl& oneccl(const plugin::Ranks& ranks);

}  // namespace deepbench::cpu
