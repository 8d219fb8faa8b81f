// Convolutions through the functions that the original benchmark calls: cudnnConvolutionForward,
// cudnnConvolutionBackwardData and cudnnConvolutionBackwardFilter.
#include "ops/conv/cudnn_implementation.hpp"
#include "ops/conv/legacy_plan.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace legacy {
namespace {

class LegacyCall final : public LibraryCall {
 public:
  LegacyCall(ConvPlan plan, const ConvOperands& operands, const Stream&)
      : plan_(std::move(plan)), operands_(operands), workspace_(plan_.workspace_bytes()) {}

  // Sets the math type in every call, because kernels of the same problem share the descriptor.
  void enqueue(uint64_t copy) override {
    plan_.convolution->set_math(plan_.algorithm.math);
    CUDA_CHECK_STATUS(cudnnConvolution,
                      plan_.convolution->call(plan_.algorithm, operands_.x(copy), operands_.w(copy),
                                              operands_.y(copy), workspace_.data()));
  }

  void describe(plugin::Sink& sink) const override {
    describe_arithmetic(
        plan_.layout.problem,
        {plan_.is_winograd(), plan_.is_fft(), plan_.algorithm.math == nvidia::CUDNN_FMA_MATH},
        sink);
  }

 private:
  ConvPlan plan_;
  const ConvOperands& operands_;
  Buffer workspace_;
};

struct LegacyInterface {
  static constexpr const char* kName = "cudnn_legacy";
  using Queries = ConvQueries;
  using Plan = ConvPlan;
  using Call = LegacyCall;
};

}  // namespace
}  // namespace legacy

Implementation& cudnn_legacy_conv() {
  return implementation_of_plan<CudnnConvolutionPlan<legacy::LegacyInterface>>();
}

}  // namespace deepbench::cuda
