// The built-in kernels of a normalization on its operands.
#pragma once

#include <cstdint>
#include <vector>

#include "buffer.hpp"
#include "deepbench/plugin.hpp"
#include "kernels/jit.hpp"
#include "ops/norm/launches.hpp"
#include "ops/norm/operands.hpp"

namespace deepbench::cuda {

class NormKernels {
 public:
  NormKernels(const NormLaunches& plan, const NormOperands& operands, Stream& stream);

  void describe(plugin::Sink& sink) const { functions_.front().describe(sink); }
  // Enqueues one call; `out` is y, dx or null.
  void enqueue(uint64_t copy, void* out) const;

 private:
  const NormLaunches plan_;
  const NormOperands& operands_;
  Stream& stream_;
  const Buffer partial_;
  std::vector<PlannedFunction> functions_;
};

// Computes the statistics from which gradients start, in all copies. Does nothing for other phases.
void prepare_statistics(NormOperands& operands, Stream& stream);

}  // namespace deepbench::cuda
