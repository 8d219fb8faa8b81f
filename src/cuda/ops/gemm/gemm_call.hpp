// What every library's call of a matrix product has in common.
#pragma once

#include "ops/gemm/operands.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

// A product runs on operands that were converted within the call, where that is how it is laid out.
class GemmCall : public LibraryCall {
 public:
  explicit GemmCall(const GemmOperands& operands) : operands_(operands) {}

  void enqueue(uint64_t copy) final {
    operands_.convert(copy);
    multiply(copy);
  }

 protected:
  virtual void multiply(uint64_t copy) = 0;
  const GemmOperands& operands() const { return operands_; }

 private:
  const GemmOperands& operands_;
};

// Throws unsupported where operands cannot be made for want of NVRTC, where the device has no units
// for the precision, or no library here does these operands.
void require_gemm_on_device(const Gemm& gemm, int device);

}  // namespace deepbench::cuda
