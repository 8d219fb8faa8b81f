// Products of groups through cublasGemmGroupedBatchedEx, one call for all groups that have rows.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "implementation.hpp"
#include "ops/gemm/cublas_session.hpp"
#include "ops/gemm/types.hpp"
#include "ops/grouped_gemm/operands.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kFunction = "cublasGemmGroupedBatchedEx";

// The arguments that describe the groups, which are in host memory. Every group has one product.
struct GroupArguments {
  explicit GroupArguments(const GroupedGemm& problem) {
    for (int64_t group = 0; group < problem.groups; ++group)
      if (problem.rows_of(group) > 0) add(product_of_group(problem, group), group);
  }

  int count() const { return int(groups.size()); }

  std::vector<int64_t> groups;  // the problem's numbers of the groups that have rows
  std::vector<nvidia::cublasOperation_t> trans_a, trans_b;
  std::vector<int> m, n, k, lda, ldb, ldc, size;
  std::vector<float> alpha, beta;

 private:
  void add(const Gemm& gemm, int64_t group) {
    groups.push_back(group);
    trans_a.push_back(nvidia::CUBLAS_OP_T), trans_b.push_back(nvidia::CUBLAS_OP_N);
    m.push_back(int(gemm.m)), n.push_back(int(gemm.n)), k.push_back(int(gemm.k));
    lda.push_back(int(gemm.rows_a())), ldb.push_back(int(gemm.rows_b()));
    ldc.push_back(int(gemm.m));
    size.push_back(1);
    alpha.push_back(1), beta.push_back(0);
  }
};

// For each copy of the operands, the addresses of B, A and C of all groups, in device memory.
class GroupAddresses {
 public:
  GroupAddresses(const GroupArguments& arguments, const GroupedGemmOperands& operands,
                 const Stream& stream)
      : groups_(arguments.groups.size()),
        addresses_(operands.copies() * 3 * groups_ * sizeof(void*)) {
    std::vector<const void*> all;
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) {
      for (const int64_t group : arguments.groups) all.push_back(operands.b(copy, group));
      for (const int64_t group : arguments.groups) all.push_back(operands.a(copy, group));
      for (const int64_t group : arguments.groups) all.push_back(operands.c(copy, group));
    }
    CUDA_CHECK(cudart().cudaMemcpyAsync(addresses_.data(), all.data(), addresses_.bytes(),
                                        nvidia::cudaMemcpyHostToDevice, stream.get()));
    stream.synchronize();  // `all` must outlive its copy
  }

  static uint64_t needed_bytes(int64_t groups, uint64_t copies) {
    return copies * 3 * uint64_t(groups) * sizeof(void*);
  }

  const void* const* b(uint64_t copy) const { return part(copy, 0); }
  const void* const* a(uint64_t copy) const { return part(copy, 1); }
  void* const* c(uint64_t copy) const { return const_cast<void* const*>(part(copy, 2)); }

 private:
  const void* const* part(uint64_t copy, uint64_t operand) const {
    return reinterpret_cast<const void* const*>(addresses_.data()) + (copy * 3 + operand) * groups_;
  }

  const uint64_t groups_;
  const Buffer addresses_;
};

class GroupedCall final : public LibraryCall {
 public:
  GroupedCall(const GroupedGemmOperands& operands, uint64_t workspace_bytes, Stream& stream)
      : arguments_(operands.problem()),
        addresses_(arguments_, operands, stream),
        types_(gemm_types(operands.problem().precision)),
        workspace_(workspace_bytes),
        library_(cublas()),
        session_(CublasSession::of(stream)) {}
  ~GroupedCall() override { session_.unbind_workspace(this); }

  void enqueue(uint64_t copy) override {
    CUDA_CHECK_STATUS(cublasGemmGroupedBatchedEx, call(copy));
  }

  // Calls the library once: cuBLAS offers no other way to ask whether it has a kernel.
  nvidia::cublasStatus_t call(uint64_t copy) {
    session_.bind_workspace(this, workspace_);
    const GroupArguments& of = arguments_;
    return library_.cublasGemmGroupedBatchedEx(
        session_.handle(), of.trans_a.data(), of.trans_b.data(), of.m.data(), of.n.data(),
        of.k.data(), of.alpha.data(), addresses_.b(copy), types_.a, of.lda.data(),
        addresses_.a(copy), types_.b, of.ldb.data(), of.beta.data(), addresses_.c(copy), types_.c,
        of.ldc.data(), of.count(), of.size.data(), types_.compute);
  }

 private:
  const GroupArguments arguments_;
  const GroupAddresses addresses_;
  const GemmTypes types_;
  const Buffer workspace_;
  const nvidia::Cublas& library_;
  CublasSession& session_;
};

class GroupedPlan final : public plugin::TypedPlan<GroupedPlan, GroupedGemm> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cublas>(); }
  static GroupedGemm parse(const plugin::Problem& problem) { return grouped_gemm_problem(problem); }

  GroupedPlan(const GroupedGemm& problem, const plugin::Options& options,
              const std::string& candidate)
      : TypedPlan(supported(problem, options), options),
        workspace_bytes_(uint64_t(std::max<int64_t>(0, options.workspace))),
        copies_(plan_copies(problem, options)) {
    if (!candidate.empty()) require_candidate("cublas", {kFunction}, candidate);
  }

  void describe(plugin::Sink& sink) const override {
    const uint64_t addresses =
        GroupAddresses::needed_bytes(problem_.groups_with_rows(), copies_.copies);
    describe_plan("cublas " + report<nvidia::Cublas>().version, kFunction,
                  saturating_add(GroupedGemmOperands::needed_bytes(problem_, copies_),
                                 saturating_add(workspace_bytes_, addresses)),
                  workspace_bytes_, sink);
  }
  std::vector<std::string> candidates(int64_t) const override { return {kFunction}; }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    return prepare_grouped_gemm(
        problem_, copies_, options_, [&](GroupedGemmOperands& operands, Stream& stream) {
          auto call = std::make_unique<GroupedCall>(operands, workspace_bytes_, stream);
          require_kernel(*call, operands);
          return call;
        });
  }

 private:
  // Throws unsupported if the function cannot execute the problem.
  static const GroupedGemm& supported(const GroupedGemm& problem, const plugin::Options& options) {
    require_grouped_gemm_on_device(problem, options.device);
    if (!cublas().cublasGemmGroupedBatchedEx)
      plugin::unsupported("cuBLAS " + report<nvidia::Cublas>().version + " has no " + kFunction +
                          "; versions from 12.5 have it");
    if (std::max({problem.rows, problem.n, problem.k}) > std::numeric_limits<int>::max())
      plugin::unsupported(std::string(kFunction) + " supports only dimensions of 32 bits");
    return problem;
  }

  static void require_kernel(GroupedCall& call, GroupedGemmOperands& operands) {
    const nvidia::cublasStatus_t status = call.call(0);
    if (status == nvidia::CUBLAS_STATUS_NOT_SUPPORTED ||
        status == nvidia::CUBLAS_STATUS_INVALID_VALUE ||
        status == nvidia::CUBLAS_STATUS_ARCH_MISMATCH)
      plugin::unsupported(
          std::string(kFunction) + " does not support " +
          std::string(operands.problem().precision.name) +
          " operands of these dimensions on this device: " + cublas().cublasGetStatusName(status));
    CUDA_CHECK_STATUS(cublasGemmGroupedBatchedEx, status);
    operands.poison_outputs();
  }

  const uint64_t workspace_bytes_;
  const plugin::CopyPlan copies_;
};

}  // namespace

Implementation& cublas_grouped_gemm() { return implementation_of_plan<GroupedPlan>(); }

}  // namespace deepbench::cuda
