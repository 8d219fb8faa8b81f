// Sparse products through cuSPARSE: prepared calls of cusparseSpMM and, for vectors, of
// cusparseSpMV. The result replaces C.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "implementation.hpp"
#include "ops/sparse_gemm/cusparse_product.hpp"
#include "ops/sparse_gemm/dense_baseline.hpp"
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
  SparseCall(const Candidate& candidate, const SparseOperands& operands, DenseBaseline baseline,
             const Stream& stream)
      : candidate_(candidate), operands_(operands), baseline_(std::move(baseline)) {
    const auto begin = std::chrono::steady_clock::now();
    make_products(stream);
    if (candidate.preprocessed) preprocess();
    stream.synchronize();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    planning_ns_ = took.count() / double(operands.copies());
  }

  void enqueue(uint64_t copy) override {
    operands_.convert_before(copy);
    require_accepted(products_[copy]->multiply(workspace(copy)), candidate_.function());
    operands_.convert_after(copy);
  }

  void describe(plugin::Sink& sink) const override {
    sink.text("library", "cusparse " + report<nvidia::Cusparse>().version);
    sink.text("algorithm", candidate_.text(operands_.layout().gemm));
    sink.integer("workspace_bytes", int64_t(workspaces_.bytes()));
    sink.real("planning_ns", planning_ns_);
    if (candidate_.call == sparse::Call::kSpmm && !is_float())
      sink.text("note.sums",
                "CSR_ALG3 is the default here, because the library's other algorithms add partial "
                "sums in 16 bits");
    baseline_.describe(sink);
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
  const DenseBaseline baseline_;
  Copies workspaces_;
  std::vector<std::unique_ptr<Product>> products_;
  double planning_ns_ = 0;
};

// Throws plugin::Error: unsupported if there is no candidate, invalid if the requested one is
// unknown.
Candidate candidate_for(const SparseGemm& gemm, const plugin::Options& options) {
  for (const Candidate& known : candidates_of(gemm))
    if (options.candidate.empty() || options.candidate == known.str()) return known;
  reject_candidate("cusparse", options.candidate);
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

class CusparseGemm final : public Implementation {
 public:
  LibraryFacts library() override { return facts_of<nvidia::Cusparse>(); }

  void supports(const plugin::Problem& problem, const plugin::Options& options) override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    require_on_device(gemm, options.device);
    const Candidate candidate = candidate_for(gemm, options);
    if (candidate.preprocessed && !can_preprocess(candidate))
      plugin::unsupported("this version of cuSPARSE is too old to preprocess products");
    expected_workspace(candidate.layout(gemm), candidate, options.device);
  }

  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    const Candidate candidate = candidate_for(gemm, options);
    const SparseLayout layout = candidate.layout(gemm);
    const plugin::CopyPlan copies = plan_copies(layout.touched_bytes(), options);
    const uint64_t sparse_bytes =
        layout.needed_bytes(copies, expected_workspace(layout, candidate, options.device),
                            candidate.preprocessed ? copies.copies : 1);
    return options.baseline ? std::max(sparse_bytes, dense_bytes(gemm, options)) : sparse_bytes;
  }

  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    require_on_device(gemm, options.device);
    std::vector<std::string> ids;
    for (const Candidate& known : candidates_of(gemm, /*exhaustive=*/options.limit == 0))
      if (!known.preprocessed || can_preprocess(known)) ids.push_back(known.str());
    return ids;
  }

  // The dense product's memory is freed before the operands are allocated.
  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    require_on_device(gemm, options.device);
    const Candidate candidate = candidate_for(gemm, options);
    const SparseLayout layout = candidate.layout(gemm);
    const plugin::CopyPlan copies = plan_copies(layout.touched_bytes(), options);
    Stream& stream = Stream::of(options.device);
    DenseBaseline baseline;
    if (options.baseline) baseline = time_dense(gemm, options);
    auto operands = std::make_unique<SparseOperands>(layout, copies, parse_inputs(options.inputs),
                                                     options.seed, stream);
    auto call = std::make_unique<SparseCall>(candidate, *operands, std::move(baseline), stream);
    return std::make_unique<PreparedKernel>(stream, copies, std::move(operands), std::move(call));
  }

 private:
  static bool can_preprocess(const Candidate& candidate) {
    const nvidia::Cusparse& library = cusparse();
    return candidate.call == sparse::Call::kSpmv ? library.cusparseSpMV_preprocess != nullptr
                                                 : library.cusparseSpMM_preprocess != nullptr;
  }
};

}  // namespace
}  // namespace sparse

Implementation& cusparse_sparse_gemm() {
  static auto* implementation = new sparse::CusparseGemm();
  return *implementation;
}

}  // namespace deepbench::cuda
