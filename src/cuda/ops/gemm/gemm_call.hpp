// The shared part of the gemm calls of all libraries.
#pragma once

#include <memory>
#include <utility>

#include "ops/gemm/operands.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cuda {

// A call first converts its operands, if the layout requires that, and then multiplies.
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

// Makes the operands of the layout and the kernel around the library's call on them. `MakeCall`
// takes the operands and the stream.
template <class MakeCall>
std::unique_ptr<plugin::Kernel> prepare_gemm(const GemmLayout& layout,
                                             const plugin::CopyPlan& copies,
                                             const plugin::Options& options, MakeCall make_call) {
  Stream& stream = Stream::of(options.device);
  auto operands = std::make_unique<GemmOperands>(layout, copies, parse_inputs(options.inputs),
                                                 options.seed, stream);
  std::unique_ptr<LibraryCall> call = make_call(*operands, stream);
  return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
}

// Throws unsupported if NVRTC, which operands need, is missing, if the device has no units for the
// precision, or if no library here supports the operand types.
void require_gemm_on_device(const Gemm& gemm, int device);

}  // namespace deepbench::cuda
