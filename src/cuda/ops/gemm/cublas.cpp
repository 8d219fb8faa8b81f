// Matrix products through cublasGemmEx, the function that the original benchmark calls. The result
// replaces C.
#include <algorithm>
#include <limits>

#include "deepbench/backend/per_device.hpp"
#include "implementation.hpp"
#include "ops/gemm/gemm_call.hpp"
#include "ops/gemm/types.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

struct Session {
  nvidia::cublasHandle_t handle = nullptr;
  // The call whose workspace the handle uses; null: the library's default workspace.
  const void* owner = nullptr;
};

// If k is split, partial sums of half and bfloat16 products remain in 32 bits; float products are
// not rounded to TF32.
constexpr auto kMath =
    nvidia::cublasMath_t(int(nvidia::CUBLAS_DEFAULT_MATH) |
                         int(nvidia::CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION));

// Returns the session of the stream's device, which is created on first use and bound to the
// device's stream.
Session& session(const Stream& stream) {
  return *plugin::get_or_create_per_device(stream, [&] {
    nvidia::cublasHandle_t made = nullptr;
    CUDA_CHECK(cublas().cublasCreate_v2(&made));
    CUDA_CHECK(cublas().cublasSetStream_v2(made, stream.get()));
    CUDA_CHECK(cublas().cublasSetMathMode(made, kMath));
    return new Session{made, nullptr};
  });
}

class CublasCall final : public GemmCall {
 public:
  CublasCall(const GemmOperands& operands, uint64_t workspace_bytes, Stream& stream)
      : GemmCall(operands),
        run_(operands.layout().executed),
        types_(gemm_types(run_.precision)),
        workspace_(workspace_bytes),
        library_(cublas()),
        session_(session(stream)),
        stream_(stream.get()),
        one_(types_.scale) {}

  ~CublasCall() override { unbind_workspace(); }

  // Calls the library once: cuBLAS offers no other way to ask whether it has a kernel.
  nvidia::cublasStatus_t try_call() {
    bind_workspace();
    return call(0);
  }

 protected:
  void multiply(uint64_t copy) override {
    bind_workspace();
    CUDA_CHECK_STATUS(cublasGemmEx, call(copy));
  }

 private:
  nvidia::cublasStatus_t call(uint64_t copy) const {
    const auto operation = [](bool transposed) {
      return transposed ? nvidia::CUBLAS_OP_T : nvidia::CUBLAS_OP_N;
    };
    return library_.cublasGemmEx(session_.handle, operation(run_.trans_a), operation(run_.trans_b),
                                 int(run_.m), int(run_.n), int(run_.k), &one_, operands().a(copy),
                                 types_.a, int(run_.rows_a()), operands().b(copy), types_.b,
                                 int(run_.rows_b()), &one_, operands().c(copy), types_.c,
                                 int(run_.m), types_.compute, nvidia::CUBLAS_GEMM_DEFAULT);
  }

  // All kernels share the handle, but each has its own workspace. A workspace of 0 bytes must be
  // set as well.
  void bind_workspace() {
    if (session_.owner == this) return;
    CUDA_CHECK(
        library_.cublasSetWorkspace_v2(session_.handle, workspace_.data(), workspace_.bytes()));
    session_.owner = this;
  }

  // Setting the stream resets the handle to the library's default workspace.
  void unbind_workspace() {
    if (session_.owner != this) return;
    library_.cublasSetStream_v2(session_.handle, stream_);
    session_.owner = nullptr;
  }

  Gemm run_;
  GemmTypes types_;
  Buffer workspace_;
  const nvidia::Cublas& library_;
  Session& session_;
  nvidia::cudaStream_t stream_;
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
                  "cublasGemmEx" + (layout_.name == "plain" ? "" : " " + layout_.name),
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
    require_gemm_on_device(gemm, options.device);
    std::vector<GemmLayout> all = plugin::gemm_layouts(gemm, options, /*in_place=*/true);
    for (const GemmLayout& known : all)
      if (std::max({known.executed.m, known.executed.n, known.executed.k}) >
          std::numeric_limits<int>::max())
        plugin::unsupported("cublasGemmEx supports only dimensions of 32 bits");
    return all;
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
      plugin::unsupported(
          std::string("cublasGemmEx does not support int8 operands of these dimensions: ") +
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
