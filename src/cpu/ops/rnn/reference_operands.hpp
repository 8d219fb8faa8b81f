// The operands of the reference. They compute all of U's gradient only when a caller needs more of
// it than verification does.
#pragma once

#include "ops/rnn/operands.hpp"
#include "ops/rnn/weight_gradient.hpp"

namespace deepbench::cpu {

class ReferenceOperands final : public LayerOperands {
 public:
  using LayerOperands::LayerOperands;

  // Defines U's gradient until the next poison_outputs().
  void defer_weight_gradient(const WeightGradient& gradient) { deferred_ = &gradient; }

  void poison_outputs() override;
  deepbench_scan scan_output(uint64_t copy) const override;
  void project_output(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read_output(uint64_t copy, const uint64_t* indices, size_t count,
                   double* values) const override;

 private:
  void complete_weight_gradient(uint64_t copy) const;
  bool read_deferred(uint64_t copy, const uint64_t* indices, size_t count, double* values) const;

  mutable const WeightGradient* deferred_ = nullptr;
};

}  // namespace deepbench::cpu
