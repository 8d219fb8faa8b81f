// Sparse products through cuSPARSE: prepared calls of cusparseSpMM and, for vectors, of
// cusparseSpMV. The result replaces C.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "deepbench/backend/host_timer.hpp"
#include "implementation.hpp"
#include "ops/sparse_gemm/cusparse_product.hpp"
#include "ops/sparse_gemm/operands.hpp"
#include "requirements.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace sparse {
namespace {

constexpr double kMaxElements = double(int64_t{1} << 44);  // takes some seconds of hashing
constexpr int32_t kMaxIndex = std::numeric_limits<int32_t>::max();

class SparseCall final : public LibraryCall {
 public:
  SparseCall(const Candidate& candidate, const SparseOperands& operands, const Stream& stream)
      : candidate_(candidate), operands_(operands) {
    const plugin::HostTimer timer;
    make_products(stream);
    if (candidate.preprocessed) preprocess();
    stream.synchronize();
    planning_ns_ = timer.elapsed_ns() / double(operands.copies());
  }

  void enqueue(uint64_t copy) override {
    operands_.convert_before(copy);
    require_accepted(products_[copy]->multiply(workspace(copy)), candidate_.function());
    operands_.convert_after(copy);
  }

  void describe(plugin::Sink& sink) const override {
    sink.integer("workspace_bytes", int64_t(workspaces_.bytes()));  // for the actual non-zeros
    sink.real("planning_ns", planning_ns_);
    if (candidate_.call == sparse::Call::kSpmm && !is_float())
      sink.text("note.sums",
                "CSR_ALG3 is the default here, because the library's other algorithms add partial "
                "sums in 16 bits");
  }

 private:
  bool is_float() const { return operands_.layout().gemm.precision.precision == Precision::kFloat; }

  // Preprocessing stores data of one copy of A in the workspace, so each copy needs a separate one.
  void make_products(const Stream& stream) {
    const uint64_t copies = operands_.copies();
    for (uint64_t copy = 0; copy < copies; ++copy)
      products_.push_back(make_product(operands_.layout().gemm, candidate_,
                                       {operands_.a(copy), operands_.b(copy), operands_.c(copy)},
                                       stream));
    workspaces_ =
        Copies(products_.front()->workspace_bytes(), candidate_.preprocessed ? copies : 1);
  }

  void preprocess() {
    for (uint64_t copy = 0; copy < products_.size(); ++copy)
      products_[copy]->preprocess(workspace(copy));
  }

  void* workspace(uint64_t copy) const {
    return workspaces_.bytes() ? workspaces_.at(copy % workspaces_.count()) : nullptr;
  }

  const Candidate candidate_;
  const SparseOperands& operands_;
  Copies workspaces_;
  std::vector<std::unique_ptr<Product>> products_;
  double planning_ns_ = 0;
};

// Throws plugin::Error: unsupported if there is no candidate, invalid if the requested one is
// unknown.
Candidate candidate_for(const SparseGemm& gemm, const std::string& id) {
  for (const Candidate& known : candidates_of(gemm))
    if (id.empty() || id == known.str()) return known;
  reject_candidate("cusparse", id);
}

void require_on_device(const SparseGemm& gemm, int device) {
  const Precision precision = gemm.precision.precision;
  if (precision != Precision::kFloat && precision != Precision::kHalf &&
      precision != Precision::kBfloat16)
    plugin::unsupported(
        "cuSPARSE supports products of a matrix in CSR only in float, half and bfloat16, "
        "not in " +
        std::string(gemm.precision.name));
  require_built_in_kernels("sparse_gemm");
  require_precision_support(gemm.precision, device);
  if (double(gemm.m) * double(gemm.k) > kMaxElements)
    plugin::unsupported("A has more than 2^44 elements, each of which must be tested for zero");
}

// Queries the library with the expected number of nonzeros and with placeholder addresses, which it
// does not read.
uint64_t expected_workspace(const SparseLayout& layout, const Candidate& candidate, int device) {
  alignas(256) static std::byte placeholder[256];
  const SparseGemm& gemm = layout.gemm;
  const auto nonzeros = int64_t(std::min(layout.max_nonzeros(), double(kMaxIndex)));
  const Csr a = {gemm.rows_a(), gemm.columns_a(), nonzeros, placeholder, placeholder, placeholder};
  return make_product(gemm, candidate, {a, placeholder, placeholder}, Stream::of(device))
      ->workspace_bytes();
}

bool can_preprocess(const Candidate& candidate) {
  const nvidia::Cusparse& library = cusparse();
  return candidate.call == sparse::Call::kSpmv ? library.cusparseSpMV_preprocess != nullptr
                                               : library.cusparseSpMM_preprocess != nullptr;
}

class CusparsePlan final : public plugin::TypedPlan<CusparsePlan, SparseGemm> {
 public:
  static LibraryFacts library() { return library_facts_of<nvidia::Cusparse>(); }
  static SparseGemm parse(const plugin::Problem& problem) { return sparse_gemm_problem(problem); }

  CusparsePlan(const SparseGemm& gemm, const plugin::Options& options, const std::string& candidate)
      : TypedPlan(gemm, options),
        candidate_(checked_candidate(gemm, options.device, candidate)),
        layout_(candidate_.layout(gemm)),
        workspace_bytes_(expected_workspace(layout_, candidate_, options.device)),
        copies_(plan_copies(layout_.touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    const uint64_t memory_bytes = layout_.needed_bytes(
        copies_, workspace_bytes_, candidate_.preprocessed ? copies_.copies : 1);
    describe_plan("cusparse " + report<nvidia::Cusparse>().version, candidate_.text(problem_),
                  memory_bytes, workspace_bytes_, sink);
  }

  std::vector<std::string> candidates(int64_t limit) const override {
    std::vector<std::string> ids;
    for (const Candidate& known : candidates_of(problem_, /*exhaustive=*/limit == 0))
      if (!known.preprocessed || can_preprocess(known)) ids.push_back(known.str());
    return ids;
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    Stream& stream = Stream::of(options_.device);
    auto operands = std::make_unique<SparseOperands>(
        layout_, copies_, parse_inputs(options_.inputs), options_.seed, stream);
    auto call = std::make_unique<SparseCall>(candidate_, *operands, stream);
    return std::make_unique<PreparedKernel>(stream, copies_, std::move(operands), std::move(call));
  }

 private:
  static Candidate checked_candidate(const SparseGemm& gemm, int device, const std::string& id) {
    require_on_device(gemm, device);
    const Candidate candidate = candidate_for(gemm, id);
    if (candidate.preprocessed && !can_preprocess(candidate))
      plugin::unsupported("this version of cuSPARSE is too old to preprocess products");
    return candidate;
  }

  const Candidate candidate_;
  const SparseLayout layout_;
  const uint64_t workspace_bytes_;  // for the expected number of non-zeros
  const plugin::CopyPlan copies_;
};

}  // namespace
}  // namespace sparse

Implementation& cusparse_sparse_gemm() { return implementation_of_plan<sparse::CusparsePlan>(); }

}  // namespace deepbench::cuda
