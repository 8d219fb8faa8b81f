// The operands of a matrix product in device memory: their creation and conversion, and the access
// to results for verification.
#pragma once

#include <cstdint>
#include <string>

#include "buffer.hpp"
#include "operand.hpp"
#include "ops/gemm/layout.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

// Plans the copies of the operands. Requests shuffles (kernels/perturb_scheduling.cu) between hot
// calls if the operands are about as large as the cache.
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

  // Enqueues the conversions that every call performs. Most layouts have none.
  void convert(uint64_t copy) const;

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void refill(const std::string& inputs, uint64_t seed) override;
  void poison_outputs() override;

 private:
  // Describes A or B.
  struct Input;
  Input input_a() const;
  Input input_b() const;
  void fill_operands();
  void fill_operand(const Matrix& matrix, uint32_t operand) const;
  void make_input(const Input& input, Copies& stored, Copies& plain, Copies& temporary);
  void make_initial_c();
  void convert_beforehand(const Copies& plain_a, const Copies& plain_b);
  Matrix output(uint64_t copy) const override;
  const void* restored() const override { return initial_c_.data(); }
  Matrix c_matrix(uint64_t copy) const;
  // For C in place: the number of products that can be added to C before a sum may exceed the range
  // of C.
  int64_t calls_before_overflow() const;
  void describe_padding(plugin::Sink& sink) const;
  void describe_rounding(plugin::Sink& sink) const;
  void describe_accumulator(plugin::Sink& sink) const;
  void describe_conversion(plugin::Sink& sink) const;
  std::string operands_converted(Conversion when) const;

  GemmLayout layout_;
  Inputs inputs_;
  uint64_t seed_, count_;
  Copies a_, b_, c_, d_;
  Copies plain_a_, plain_b_;  // Conversion::kInCall: the sources that every call converts
  Buffer initial_c_;          // C in place: the values that restore() writes
  // The duration of one conversion of all operands that are converted beforehand.
  double conversion_ns_ = 0;
};

}  // namespace deepbench::cuda
