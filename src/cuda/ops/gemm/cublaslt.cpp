// Matrix products through cublasLtMatmul, with C and D in separate memory.
#include "implementation.hpp"
#include "ops/gemm/cublaslt_plan.hpp"
#include "ops/gemm/gemm_call.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace lt {
namespace {

class Call final : public GemmCall {
 public:
  Call(Plan plan, const GemmOperands& operands, Stream& stream)
      : GemmCall(operands),
        plan_(std::move(plan)),
        descriptors_(plan_.layout.executed),
        workspace_(plan_.workspace_bytes),
        library_(cublaslt()),
        handle_(handle(stream.device())),
        stream_(stream.get()),
        one_(gemm_types(plan_.layout.executed.precision).scale) {}

  void describe(plugin::Sink& sink) const override {
    sink.text("library", "cublaslt " + version());
    sink.text("algorithm", plan_.layout.name + ": " + plan_.algorithm.text());
    sink.integer("workspace_bytes", int64_t(plan_.workspace_bytes));
    sink.real("planning_ns", plan_.planning_ns);
  }

 protected:
  void multiply(uint64_t copy) override {
    CUDA_CHECK(library_.cublasLtMatmul(
        handle_, descriptors_.operation.get(), &one_, operands().a(copy), descriptors_.a.get(),
        operands().b(copy), descriptors_.b.get(), &one_, operands().c(copy), descriptors_.c.get(),
        operands().d(copy), descriptors_.c.get(), &plan_.algo, workspace_.data(),
        workspace_.bytes(), stream_));
  }

 private:
  Plan plan_;
  Descriptors descriptors_;
  Buffer workspace_;
  const nvidia::CublasLt& library_;
  nvidia::cublasLtHandle_t handle_;
  nvidia::cudaStream_t stream_;
  One one_;
};

class CublasLtGemm final : public Implementation {
 public:
  LibraryFacts library() override { return facts_of<nvidia::CublasLt>(); }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    plan_gemm(gemm_problem(problem), options);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const Plan plan = plan_gemm(gemm_problem(problem), options);
    return plan.layout.needed_bytes(plan_copies(plan.layout, options), plan.workspace_bytes);
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    return gemm_candidates(gemm_problem(problem), options);
  }

  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    Plan plan = plan_gemm(gemm_problem(problem), options);
    Stream& stream = Stream::of(options.device);
    const plugin::CopyPlan copies = plan_copies(plan.layout, options);
    auto operands = std::make_unique<GemmOperands>(
        plan.layout, copies, parse_inputs(options.inputs), options.seed, stream);
    auto call = make_call(std::move(plan), *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
  }
};

}  // namespace

std::unique_ptr<GemmCall> make_call(Plan plan, const GemmOperands& operands, Stream& stream) {
  return std::make_unique<Call>(std::move(plan), operands, stream);
}

}  // namespace lt

Implementation& cublaslt_gemm() {
  static auto* implementation = new lt::CublasLtGemm();
  return *implementation;
}

}  // namespace deepbench::cuda
