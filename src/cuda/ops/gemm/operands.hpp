// The operands of a matrix product in device memory: how they come into being, how they are
// converted, and what verification asks of the result.
#pragma once

#include <cstdint>
#include <string>

#include "buffer.hpp"
#include "operand.hpp"
#include "ops/gemm/layout.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

// Hot products of operands about as large as the cache ask for shuffles.
plugin::CopyPlan plan_copies(const GemmLayout& layout, const plugin::Options& options);

class GemmOperands final : public MatrixOperands {
 public:
  GemmOperands(const GemmLayout& layout, const plugin::CopyPlan& plan, Inputs inputs, uint64_t seed,
               Stream& stream);

  const GemmLayout& layout() const { return layout_; }

  void* a(uint64_t copy) const { return a_.at(copy); }
  void* b(uint64_t copy) const { return b_.at(copy); }
  void* c(uint64_t copy) const { return c_.at(copy); }
  void* d(uint64_t copy) const { return layout_.in_place ? c_.at(copy) : d_.at(copy); }

  // Gives to the stream what every call has to convert; nothing for most layouts.
  void convert(uint64_t copy) const;

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison() override;

 private:
  // One of A and B.
  struct Input;
  Input input_a() const;
  Input input_b() const;
  void make_input(const Input& input, Copies& stored, Copies& plain, Copies& temporary);
  void make_outputs();
  void convert_beforehand(const Copies& plain_a, const Copies& plain_b);
  Matrix output(uint64_t copy) const override;
  const void* restored() const override { return initial_c_.data(); }
  Matrix c_matrix(uint64_t copy) const;
  // In place: how many products can be added to C before a sum might leave C's range.
  int64_t calls_before_overflow() const;
  void describe_padding(plugin::Sink& sink) const;
  void describe_rounding(plugin::Sink& sink) const;
  void describe_accumulator(plugin::Sink& sink) const;
  void describe_conversion(plugin::Sink& sink) const;
  std::string converted(Conversion when) const;

  GemmLayout layout_;
  Inputs inputs_;
  uint64_t seed_, count_;
  Copies a_, b_, c_, d_;
  Copies plain_a_, plain_b_;  // Conversion::kInCall: what every call converts
  Buffer initial_c_;          // in place: what restore() brings back
  double conversion_ns_ = 0;  // of one conversion of all that was converted beforehand
};

}  // namespace deepbench::cuda
