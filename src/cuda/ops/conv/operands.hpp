// The operands of a convolution in device memory: how they come into being, and what verification
// asks of the result.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "ops/conv/layout.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

class ConvOperands final : public Operands {
 public:
  ConvOperands(const ConvLayout& layout, const plugin::CopyPlan& plan, Inputs inputs, uint64_t seed,
               Stream& stream);

  const ConvLayout& layout() const { return layout_; }
  uint64_t copies() const { return count_; }

  // x or dx, w or dw, y or dy.
  void* x(uint64_t copy) const { return x_.at(copy); }
  void* w(uint64_t copy) const { return w_.at(copy); }
  void* y(uint64_t copy) const { return y_.at(copy); }

  void describe(plugin::Sink& sink) const override;
  void poison() override;
  deepbench_scan scan(uint64_t copy) const override;
  void project(uint64_t copy, uint64_t rows, uint64_t seed, double* sums) const override;
  void read(uint64_t copy, const uint64_t* indices, size_t count, double* values) const override;

 private:
  void make(const ConvTensor& tensor, Copies& copies, Inputs inputs, uint64_t seed);
  const Copies& output_copies() const;
  Matrix output(uint64_t copy) const;

  ConvLayout layout_;
  uint64_t count_;
  Stream& stream_;
  Copies x_, w_, y_;
};

}  // namespace deepbench::cuda
