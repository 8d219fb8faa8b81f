// The operands of a convolution in memory, in the library's layouts, and its output in the element
// order of verification.
#pragma once

#include <cstdint>
#include <memory>

#include "copies.hpp"
#include "host_memory.hpp"
#include "ops/conv/onednn_plan.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu::onednn {

// The bytes of all operands, including the output and excluding the library's workspace.
uint64_t conv_bytes(const ConvPlan& plan, const CopyPlan& copies);

class ConvOperands final : public ArrayOperands {
 public:
  ConvOperands(std::shared_ptr<const ConvPlan> plan, const CopyPlan& copies, Inputs inputs,
               uint64_t seed);

  uint64_t copies() const { return copies_; }
  void* input(size_t which, uint64_t copy) const;
  void* result(uint64_t copy) const { return output_.at(copy); }  // In the library's layout.

  // The times of the reorders of operands into the library's layouts and of the output out of it.
  const std::vector<double>& filters_reorders() const { return filters_reorders_; }
  double activations_reorder_ns() const { return activations_reorder_ns_; }

  void describe(plugin::Sink& sink) const override;
  void poison_outputs() override;

 protected:
  // The output in verification's order. Every reading converts it again, even a poisoned one.
  // Otherwise only the first reading after a call would take long, as if it did the call's work.
  HostMemory::Array output(uint64_t copy) const override;

 private:
  void make_input(size_t which, Inputs inputs, uint64_t seed);
  void time_output_reorder();

  const std::shared_ptr<const ConvPlan> shared_plan_;  // Shared with the call.
  const ConvPlan& plan_ = *shared_plan_;
  uint64_t copies_;
  // Set when there is one copy in the problem's layout, and null otherwise.
  std::shared_ptr<const Buffer> shared_[2];
  Copies inputs_[2], output_;
  std::vector<double> filters_reorders_;  // empty: the filters need no reordering
  double activations_reorder_ns_ = 0;
  // The output in verification's order, if the kernel stores it in another order.
  mutable Buffer ordered_;
};

}  // namespace deepbench::cpu::onednn
