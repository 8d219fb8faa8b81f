// The operands of a sparse product in device memory: their creation, the conversions within a call,
// and the access to the result for verification. C is in place.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "operand.hpp"
#include "ops/sparse_gemm/csr.hpp"
#include "ops/sparse_gemm/layout.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

class SparseOperands final : public MatrixOperands {
 public:
  SparseOperands(const SparseLayout& layout, const plugin::CopyPlan& plan, Inputs inputs,
                 uint64_t seed, Stream& stream);

  const SparseLayout& layout() const { return layout_; }
  uint64_t copies() const { return copies_; }

  // The operands in the library's layout.
  Csr a(uint64_t copy) const { return a_.at(copy); }
  void* b(uint64_t copy) const { return layout_.convert_b ? converted_b_.data() : b_.at(copy); }
  void* c(uint64_t copy) const { return layout_.convert_c ? converted_c_.data() : c_.at(copy); }

  // Enqueue the conversions that every call performs before and after the product. Most layouts
  // have none.
  void convert_before(uint64_t copy) const;
  void convert_after(uint64_t copy) const;

  void describe(plugin::Sink& sink) const override;
  void restore() override;
  void poison_outputs() override { restore(); }
  deepbench_scan scan_output(uint64_t copy) const override;

 private:
  uint64_t outputs() const { return uint64_t(layout_.gemm.m) * uint64_t(layout_.gemm.n); }
  Matrix output(uint64_t copy) const override;
  const void* restored() const override { return initial_c_.data(); }
  // For C in place: the number of products that can be added to C before a sum may exceed the range
  // of C.
  int64_t calls_before_overflow() const;

  SparseLayout layout_;
  Inputs inputs_;
  uint64_t copies_;
  CsrCopies a_;
  Copies b_, c_;
  Buffer initial_c_;                  // the values that restore() writes
  Buffer converted_b_, converted_c_;  // converted to the other order during a call
};

}  // namespace deepbench::cuda
