// The threads that take part in an exchange: those of a block, of a cluster of blocks or of all
// multiprocessors. Depends on the device only through its facts.
#pragma once

#include <cstdint>
#include <string>

#include "deepbench/ops/memory/memory.hpp"
#include "device.hpp"
#include "kernels/jit.hpp"

namespace deepbench::cuda {

struct ExchangePlan {
  std::string scope;      // "block", "cluster" or "grid": the name of the candidate
  std::string kernel;     // name of the kernel in kernels/exchange.cu
  std::string placement;  // place of the weights, as a note on the row
  LaunchShape launch;
  // Weights that are read in each step because they fit into no multiprocessors.
  uint64_t weight_bytes = 0;
  uint64_t mailbox_bytes = 0;  // for the exchange of words between blocks
};

// The smallest scope whose registers and shared memory hold the weights. Throws plugin::Error
// (unsupported) with the reason.
ExchangePlan exchange_plan(const Memory& memory, const DeviceFacts& device);

}  // namespace deepbench::cuda
