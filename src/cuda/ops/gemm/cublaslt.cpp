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
        one_(gemm_types(plan_.layout.executed.precision).scale),
        beta_(operands.layout().problem.has_epilogue() ? zero() : one_) {
    if (operands.layout().problem.has_epilogue()) descriptors_.set_bias(operands.bias());
  }

 protected:
  void multiply(uint64_t copy) override {
    if (plan_.layout.problem.scales_blocks)
      descriptors_.set_scales(operands().scale_a(copy), operands().scale_b(copy));
    CUDA_CHECK(library_.cublasLtMatmul(
        handle_, descriptors_.operation.get(), &one_, operands().a(copy), descriptors_.a.get(),
        operands().b(copy), descriptors_.b.get(), &beta_, operands().c(copy), descriptors_.c.get(),
        operands().d(copy), descriptors_.c.get(), &plan_.algo, workspace_.data(),
        workspace_.bytes(), stream_));
  }

 private:
  static One zero() {
    One value(nvidia::CUDA_R_32F);
    value.real = 0;
    return value;
  }

  Plan plan_;
  Descriptors descriptors_;
  Buffer workspace_;
  const nvidia::CublasLt& library_;
  nvidia::cublasLtHandle_t handle_;
  nvidia::cudaStream_t stream_;
  One one_, beta_;
};

class CublasLtPlan final : public plugin::TypedPlan<CublasLtPlan, Gemm> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::CublasLt>(); }
  static Gemm parse(const plugin::Problem& problem) { return gemm_problem(problem); }

  CublasLtPlan(const Gemm& gemm, const plugin::Options& options, const std::string& candidate,
               std::shared_ptr<Heuristics> heuristics = std::make_shared<Heuristics>())
      : TypedPlan(gemm, options),
        heuristics_(std::move(heuristics)),
        plan_(plan_gemm(gemm, options, candidate, *heuristics_)),
        copies_(plan_copies(plan_.layout, options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_plan("cublaslt " + version(), plan_.layout.name + ": " + plan_.algorithm.text(),
                  GemmOperands::needed_bytes(plan_.layout, copies_, plan_.workspace_bytes),
                  plan_.workspace_bytes, sink);
    sink.real("planning_ns", plan_.planning_ns);
  }

  std::vector<std::string> candidates(int64_t limit) const override {
    return gemm_candidates(problem_, options_, limit, *heuristics_);
  }
  std::unique_ptr<plugin::Plan> with_candidate(const std::string& id) const override {
    return std::make_unique<CublasLtPlan>(problem_, options_, id, heuristics_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    return prepare_gemm(plan_.layout, copies_, options_,
                        [&](const GemmOperands& operands, Stream& stream) {
                          return make_call(plan_, operands, stream);
                        });
  }

 private:
  const std::shared_ptr<Heuristics> heuristics_;
  const lt::Plan plan_;
  const plugin::CopyPlan copies_;
};

}  // namespace

std::unique_ptr<GemmCall> make_call(Plan plan, const GemmOperands& operands, Stream& stream) {
  return std::make_unique<Call>(std::move(plan), operands, stream);
}

}  // namespace lt

Implementation& cublaslt_gemm() { return implementation_of_plan<lt::CublasLtPlan>(); }

}  // namespace deepbench::cuda
