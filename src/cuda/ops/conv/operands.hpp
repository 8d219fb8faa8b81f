// The operands of a convolution in device memory: their creation, and the access to the result for
// verification.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "ops/conv/layout.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

class ConvOperands final : public MatrixOperands {
 public:
  ConvOperands(const ConvLayout& layout, const plugin::CopyPlan& plan, Inputs inputs, uint64_t seed,
               Stream& stream);

  const ConvLayout& layout() const { return layout_; }
  uint64_t copies() const { return count_; }

  // x or dx, w or dw, y or dy, depending on the phase.
  void* x(uint64_t copy) const { return x_.at(copy); }
  void* w(uint64_t copy) const { return w_.at(copy); }
  void* y(uint64_t copy) const { return y_.at(copy); }

  void describe(plugin::Sink& sink) const override;
  void poison_outputs() override;

 private:
  void make_operand(const ConvTensor& tensor, Copies& copies, Inputs inputs, uint64_t seed);
  const Copies& output_copies() const;
  Matrix output(uint64_t copy) const override;

  ConvLayout layout_;
  uint64_t count_;
  Copies x_, w_, y_;
};

}  // namespace deepbench::cuda
