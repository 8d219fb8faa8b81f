// Convolutions through the calls that the original benchmark makes: cudnnConvolutionForward,
// cudnnConvolutionBackwardData and cudnnConvolutionBackwardFilter.
#include "check.hpp"
#include "implementation.hpp"
#include "ops/conv/legacy_plan.hpp"
#include "ops/conv/operands.hpp"

namespace deepbench::cuda {
namespace legacy {
namespace {

class LegacyCall final : public LibraryCall {
 public:
  LegacyCall(ConvPlan plan, const ConvOperands& operands)
      : plan_(std::move(plan)), operands_(operands), workspace_(plan_.algorithm.workspace_bytes) {
    plan_.convolution->use(plan_.algorithm.math);
  }

  // Another kernel of the same problem may have set its own.
  void enqueue(uint64_t copy) override {
    plan_.convolution->use(plan_.algorithm.math);
    CUDA_CHECK_STATUS(cudnnConvolution,
                      plan_.convolution->call(plan_.algorithm, operands_.x(copy), operands_.w(copy),
                                              operands_.y(copy), workspace_.data()));
  }

  void describe(plugin::Sink& sink) const override {
    sink.text("library", "cudnn_legacy " + report<nvidia::Cudnn>().version);
    sink.text("algorithm", plan_.layout.name + ": " +
                               name_of(plan_.layout.run.phase, plan_.algorithm.number) +
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

class CudnnLegacyConv final : public Implementation {
 public:
  LibraryFacts library() override {
    const LibraryReport& found = report<nvidia::Cudnn>();
    return {found.version, found.path, found.reason};
  }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    plan(problem, options);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const ConvPlan planned = plan(problem, options);
    return planned.layout.needed_bytes(plan_copies(planned.layout.touched_bytes(), options),
                                       planned.algorithm.workspace_bytes);
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    return conv_candidates(conv_problem(problem), problem.text("layout"), options);
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    ConvPlan planned = plan(problem, options);
    Stream& stream = Stream::of(options.device);
    const plugin::CopyPlan copies = plan_copies(planned.layout.touched_bytes(), options);
    auto operands = std::make_unique<ConvOperands>(
        planned.layout, copies, inputs_named(options.inputs), options.seed, stream);
    auto call = std::make_unique<LegacyCall>(std::move(planned), *operands);
    return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
  }

 private:
  static ConvPlan plan(const plugin::Problem& problem, const plugin::Options& options) {
    return plan_conv(conv_problem(problem), problem.text("layout"), options);
  }
};

}  // namespace
}  // namespace legacy

Implementation& cudnn_legacy_conv() {
  static auto* implementation = new legacy::CudnnLegacyConv();
  return *implementation;
}

}  // namespace deepbench::cuda
