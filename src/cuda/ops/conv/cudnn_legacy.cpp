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
    sink.text("library", "cudnn_legacy " + report<nvidia::Cudnn>().version);
    sink.text("algorithm", plan_.layout.name + ": " +
                               name_of(plan_.layout.executed.phase, plan_.algorithm.number) +
                               (plan_.algorithm.nondeterministic ? " (nondeterministic)" : ""));
    sink.integer("workspace_bytes", int64_t(workspace_.bytes()));
    sink.real("planning_ns", plan_.planning_ns);
    if (plan_.is_winograd()) sink.text("accumulator", "winograd");
  }

 private:
  ConvPlan plan_;
  const ConvOperands& operands_;
  Buffer workspace_;
};

struct LegacyInterface {
  using Call = LegacyCall;
  static constexpr auto plan = plan_conv;
  static constexpr auto candidates = conv_candidates;
};

}  // namespace
}  // namespace legacy

Implementation& cudnn_legacy_conv() {
  static auto* implementation = new CudnnConvolution<legacy::LegacyInterface>();
  return *implementation;
}

}  // namespace deepbench::cuda
