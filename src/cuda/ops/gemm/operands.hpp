// The operands of a matrix product in device memory.
#pragma once

#include <cstdint>

#include "deepbench/backend/gemm_layout.hpp"
#include "deepbench/backend/gemm_operands.hpp"
#include "device_memory.hpp"

// Instantiated once, in operands.cpp.
extern template class deepbench::plugin::GemmOperands<deepbench::cuda::DeviceMemory>;

namespace deepbench::cuda {

using plugin::GemmLayout;

// Plans the copies of the operands. Hot calls whose operands are about as large as the cache are
// sensitive to the schedule (kernels/perturb_scheduling.cu).
plugin::CopyPlan plan_copies(const GemmLayout& layout, const plugin::Options& options);

class GemmOperands final : public plugin::GemmOperands<DeviceMemory> {
 public:
  GemmOperands(const GemmLayout& layout, const plugin::CopyPlan& plan, Inputs inputs, uint64_t seed,
               Stream& stream);

 private:
  void describe_rounding(plugin::Sink& sink) const override;
  void describe_sum_in_place(plugin::Sink& sink) const;
  void describe_gelu(plugin::Sink& sink) const;
  void describe_accumulator(plugin::Sink& sink) const;
};

}  // namespace deepbench::cuda
