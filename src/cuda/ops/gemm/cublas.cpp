// Matrix products through cublasGemmEx, the function that the original benchmark calls, and batches
// of products through cublasGemmStridedBatchedEx. The result replaces C.
#include <algorithm>
#include <limits>

#include "implementation.hpp"
#include "ops/gemm/cublas_session.hpp"
#include "ops/gemm/gemm_call.hpp"
#include "ops/gemm/types.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

class CublasCall final : public GemmCall {
 public:
  CublasCall(const GemmOperands& operands, uint64_t workspace_bytes, Stream& stream)
      : GemmCall(operands),
        run_(operands.layout().executed),
        types_(gemm_types(run_.precision)),
        workspace_(workspace_bytes),
        library_(cublas()),
        session_(CublasSession::of(stream)),
        one_(types_.scale) {}

  ~CublasCall() override { session_.unbind_workspace(this); }

  // Calls the library once: cuBLAS offers no other way to ask whether it has a kernel.
  nvidia::cublasStatus_t try_call() {
    session_.bind_workspace(this, workspace_);
    return call(0);
  }

 protected:
  void multiply(uint64_t copy) override {
    session_.bind_workspace(this, workspace_);
    const nvidia::cublasStatus_t status = call(copy);
    if (run_.batch > 1) CUDA_CHECK_STATUS(cublasGemmStridedBatchedEx, status);
    CUDA_CHECK_STATUS(cublasGemmEx, status);
  }

 private:
  nvidia::cublasStatus_t call(uint64_t copy) const {
    const auto operation = [](bool transposed) {
      return transposed ? nvidia::CUBLAS_OP_T : nvidia::CUBLAS_OP_N;
    };
    if (run_.batch > 1)
      return library_.cublasGemmStridedBatchedEx(
          session_.handle(), operation(run_.trans_a), operation(run_.trans_b), int(run_.m),
          int(run_.n), int(run_.k), &one_, operands().a(copy), types_.a, int(run_.rows_a()),
          run_.m * run_.k, operands().b(copy), types_.b, int(run_.rows_b()), run_.k * run_.n, &one_,
          operands().c(copy), types_.c, int(run_.m), run_.m * run_.n, int(run_.batch),
          types_.compute, nvidia::CUBLAS_GEMM_DEFAULT);
    return library_.cublasGemmEx(
        session_.handle(), operation(run_.trans_a), operation(run_.trans_b), int(run_.m),
        int(run_.n), int(run_.k), &one_, operands().a(copy), types_.a, int(run_.rows_a()),
        operands().b(copy), types_.b, int(run_.rows_b()), &one_, operands().c(copy), types_.c,
        int(run_.m), types_.compute, nvidia::CUBLAS_GEMM_DEFAULT);
  }

  Gemm run_;
  GemmTypes types_;
  Buffer workspace_;
  const nvidia::Cublas& library_;
  CublasSession& session_;
  One one_;
};

class CublasPlan final : public plugin::TypedPlan<CublasPlan, Gemm> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cublas>(); }
  static Gemm parse(const plugin::Problem& problem) { return gemm_problem(problem); }

  CublasPlan(const Gemm& gemm, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(gemm, options),
        layouts_(supported_layouts(gemm, options)),
        layout_(layout_named(candidate)),
        workspace_bytes_(uint64_t(std::max<int64_t>(0, options.workspace))),
        copies_(plan_copies(layout_, options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_plan("cublas " + report<nvidia::Cublas>().version,
                  function_name(problem_) + (layout_.name == "plain" ? "" : " " + layout_.name),
                  GemmOperands::needed_bytes(layout_, copies_, workspace_bytes_), workspace_bytes_,
                  sink);
  }

  std::vector<std::string> candidates(int64_t) const override {
    std::vector<std::string> names;
    for (const GemmLayout& layout : layouts_) names.push_back(layout.name);
    return names;
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    return prepare_gemm(layout_, copies_, options_, [&](GemmOperands& operands, Stream& stream) {
      auto call = std::make_unique<CublasCall>(operands, workspace_bytes_, stream);
      if (problem_.is_int8()) require_kernel(*call, operands);
      return call;
    });
  }

 private:
  // Throws unsupported if cublasGemmEx cannot execute the problem.
  static std::vector<GemmLayout> supported_layouts(const Gemm& gemm,
                                                   const plugin::Options& options) {
    if (gemm.is_fp8())
      plugin::unsupported(
          "cublasGemmEx does not support 8-bit floating-point types; use library cublaslt");
    if (gemm.has_epilogue())
      plugin::unsupported("cublasGemmEx has no products with an epilogue; use library cublaslt");
    require_gemm_on_device(gemm, options.device);
    std::vector<GemmLayout> all = plugin::gemm_layouts(gemm, options, /*in_place=*/true);
    for (const GemmLayout& known : all)
      if (std::max({known.executed.m, known.executed.n, known.executed.k}) >
          std::numeric_limits<int>::max())
        plugin::unsupported("cublasGemmEx supports only dimensions of 32 bits");
    return all;
  }

  static std::string function_name(const Gemm& gemm) {
    return gemm.batch > 1 ? "cublasGemmStridedBatchedEx" : "cublasGemmEx";
  }

  const GemmLayout& layout_named(const std::string& candidate) const {
    for (const GemmLayout& layout : layouts_)
      if (candidate.empty() || candidate == layout.name) return layout;
    reject_candidate("cublas", candidate);
  }

  // The kernels for 8-bit integers support only some leading dimensions.
  static void require_kernel(CublasCall& call, GemmOperands& operands) {
    const nvidia::cublasStatus_t status = call.try_call();
    if (status == nvidia::CUBLAS_STATUS_NOT_SUPPORTED ||
        status == nvidia::CUBLAS_STATUS_INVALID_VALUE)
      plugin::unsupported(function_name(operands.layout().problem) +
                          " does not support int8 operands of these dimensions: " +
                          cublas().cublasGetStatusName(status));
    CUDA_CHECK_STATUS(cublasGemmEx, status);
    operands.restore();
  }

  const std::vector<GemmLayout> layouts_;
  const GemmLayout layout_;
  const uint64_t workspace_bytes_;
  const plugin::CopyPlan copies_;
};

}  // namespace

Implementation& cublas_gemm() { return implementation_of_plan<CublasPlan>(); }

}  // namespace deepbench::cuda
