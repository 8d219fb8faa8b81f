// Convolutions through cuDNN's graph interface: one engine of the library's, with its knobs, a
// call.
#include "check.hpp"
#include "cudnn/handle.hpp"
#include "implementation.hpp"
#include "ops/conv/cudnn_plan.hpp"
#include "ops/conv/operands.hpp"

namespace deepbench::cuda {
namespace dnn {
namespace {

class ConvCall final : public LibraryCall {
 public:
  ConvCall(ConvPlan plan, const ConvOperands& operands, Stream& stream)
      : plan_(std::move(plan)),
        workspace_(plan_.execution->workspace_bytes()),
        handle_(cudnn_handle(stream)) {
    for (uint64_t copy = 0; copy < operands.copies(); ++copy)
      variants_.push_back(plan_.execution->variants(operands.x(copy), operands.w(copy),
                                                    operands.y(copy), workspace_.data()));
  }

  void enqueue(uint64_t copy) override {
    CUDA_CHECK_STATUS(cudnnBackendExecute, plan_.execution->execute(handle_, variants_[copy]));
  }

  void describe(plugin::Sink& sink) const override {
    sink.text("library", "cudnn " + report<nvidia::Cudnn>().version);
    sink.text("algorithm", plan_.algorithm());
    sink.integer("workspace_bytes", int64_t(workspace_.bytes()));
    sink.real("planning_ns", plan_.planning_ns);
    if (plan_.execution->notes().winograd) sink.text("accumulator", "winograd");
  }

 private:
  ConvPlan plan_;
  Buffer workspace_;
  nvidia::cudnnHandle_t handle_;
  std::vector<CudnnDescriptor> variants_;  // of each copy
};

class CudnnConv final : public Implementation {
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
                                       planned.execution->workspace_bytes());
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
    auto call = std::make_unique<ConvCall>(std::move(planned), *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
  }

 private:
  static ConvPlan plan(const plugin::Problem& problem, const plugin::Options& options) {
    return plan_conv(conv_problem(problem), problem.text("layout"), options);
  }
};

}  // namespace
}  // namespace dnn

Implementation& cudnn_conv() {
  static auto* implementation = new dnn::CudnnConv();
  return *implementation;
}

}  // namespace deepbench::cuda
