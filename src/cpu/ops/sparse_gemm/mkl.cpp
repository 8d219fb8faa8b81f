// Sparse products through Intel MKL's inspector-executor functions: mkl_sparse_s_mv for a vector
// and mkl_sparse_s_mm otherwise, either directly or after mkl_sparse_optimize with a hint.
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/plugin.hpp"
#include "implementation.hpp"
#include "ops/sparse_gemm/mkl_sparse.hpp"
#include "ops/sparse_gemm/sparse_plan.hpp"
#include "timing.hpp"
#include "topology.hpp"

namespace deepbench::cpu {
namespace mkl {

const SparseApi& SparseApi::instance() {
  static const SparseApi api = [] {
    SparseApi functions;
    const SharedLibrary& library = Api::instance().library();
    const bool found = library.bind(functions.create_csr, "mkl_sparse_s_create_csr") &&
                       library.bind(functions.destroy, "mkl_sparse_destroy") &&
                       library.bind(functions.set_mv_hint, "mkl_sparse_set_mv_hint") &&
                       library.bind(functions.set_mm_hint, "mkl_sparse_set_mm_hint") &&
                       library.bind(functions.optimize, "mkl_sparse_optimize") &&
                       library.bind(functions.mv, "mkl_sparse_s_mv") &&
                       library.bind(functions.mm, "mkl_sparse_s_mm");
    if (!found) functions.create_csr = nullptr;
    return functions;
  }();
  if (!api.create_csr)
    plugin::unsupported(Api::instance().library().path() + " lacks MKL's sparse functions");
  return api;
}

namespace {

struct DestroyMatrix {
  void operator()(SparseMatrix matrix) const { SparseApi::instance().destroy(matrix); }
};
using OwnedMatrix = std::unique_ptr<SparseMatrixOpaque, DestroyMatrix>;

constexpr const char* kPlain = "plain";
constexpr const char* kOptimized = "optimized";
constexpr int kExpectedCalls = 1000;

void check(int status, const char* doing) {
  if (status != kOk)
    plugin::unsupported(std::string("MKL: ") + doing + ": status " + std::to_string(status));
}

class SparseCall final : public LibraryCall {
 public:
  SparseCall(const SparseOperands& operands, bool optimized, int threads)
      : operands_(operands),
        gemm_(operands.gemm()),
        optimized_(optimized),
        threads_(threads),
        operation_(gemm_.trans_a ? kSparseTranspose : kSparseNoTranspose),
        layout_(gemm_.row_major ? kLayoutByRows : kLayoutByColumns) {
    Api::instance().use_threads(threads);
    matrices_.reserve(operands.copies());
    for (uint64_t copy = 0; copy < operands.copies(); ++copy) add_matrix(operands.a(copy));
    if (!optimized) return;
    const Clock::time_point begin = Clock::now();
    for (const OwnedMatrix& matrix : matrices_) optimize(matrix.get());
    planning_ns_ = elapsed_ns(begin, Clock::now()) / double(matrices_.size());
  }

  void begin_batch() override { Api::instance().use_threads(threads_); }

  int run(uint64_t copy) override {
    const float* const b = operands_.b(copy);
    float* const c = operands_.c(copy);
    SparseMatrix a = matrices_[copy].get();
    if (is_vector()) return api_.mv(operation_, 1.0f, a, {}, b, 1.0f, c);
    const bool by_rows = gemm_.row_major;
    return api_.mm(operation_, 1.0f, a, {}, layout_, b, int(gemm_.n),
                   int(by_rows ? gemm_.n : gemm_.k), 1.0f, c, int(by_rows ? gemm_.n : gemm_.m));
  }

  void describe(plugin::Sink& sink) const override {
    sink.text("note.workspace", "MKL allocates its workspace itself");
    if (optimized_) sink.real("planning_ns", planning_ns_);
  }

 private:
  bool is_vector() const { return gemm_.n == 1; }

  // MKL's declaration lacks const, but MKL only reads the arrays.
  void add_matrix(const Csr& a) {
    auto* const offsets = const_cast<int32_t*>(a.offsets);
    SparseMatrix made = nullptr;
    check(api_.create_csr(&made, kZeroBased, int(a.rows), int(a.columns), offsets, offsets + 1,
                          const_cast<int32_t*>(a.indices), const_cast<float*>(a.values)),
          "creating a sparse matrix");
    matrices_.emplace_back(made);
  }

  void optimize(SparseMatrix matrix) const {
    check(is_vector()
              ? api_.set_mv_hint(matrix, operation_, {}, kExpectedCalls)
              : api_.set_mm_hint(matrix, operation_, {}, layout_, int(gemm_.n), kExpectedCalls),
          "setting a hint");
    check(api_.optimize(matrix), "optimizing");
  }

  const SparseOperands& operands_;
  const SparseGemm& gemm_;
  const SparseApi& api_ = SparseApi::instance();
  const bool optimized_;
  const int threads_, operation_, layout_;
  std::vector<OwnedMatrix> matrices_;
  double planning_ns_ = 0;
};

struct MklSparseGemm {
  static constexpr SparseOutput kOutput = SparseOutput::kInPlace;

  struct CandidateSettings {
    CandidateSettings(const SparseGemm& gemm, const std::string& candidate, int)
        : gemm(gemm), optimized(candidate == kOptimized) {}
    uint64_t workspace_bytes() const { return 0; }  // MKL allocates it itself
    // MKL may store a copy of A when it optimizes.
    uint64_t library_bytes() const { return optimized ? CsrCopies::bytes(gemm, gemm.nnz()) : 0; }
    std::unique_ptr<LibraryCall> make_call(SparseOperands& operands, int threads) const {
      return std::make_unique<SparseCall>(operands, optimized, threads);
    }
    SparseGemm gemm;
    bool optimized;
  };

  static LibraryFacts library() {
    const Api& api = Api::instance();
    return api.library().facts(api.version());
  }
  static std::string name() { return "mkl " + Api::instance().version(); }
  static std::string algorithm(const CandidateSettings& choice, const std::string&) {
    return std::string(choice.gemm.n == 1 ? "mkl_sparse_s_mv" : "mkl_sparse_s_mm") +
           (choice.optimized ? ":optimized" : "");
  }
  static int threads(const SparseGemm&, int requested) { return requested; }
  static std::vector<std::string> candidates(const SparseGemm& gemm) {
    require_float(gemm, "MKL's sparse product");
    if (gemm.trans_b && gemm.n > 1 && gemm.k > 1)
      plugin::unsupported("MKL's sparse product does not support a transposed B");
    if (gemm.n > std::numeric_limits<int32_t>::max())
      plugin::unsupported("MKL's dimensions are 32-bit integers");
    SparseApi::instance();
    return {kPlain, kOptimized};
  }
};

}  // namespace
}  // namespace mkl

Implementation& mkl_sparse_gemm() {
  return implementation_of_plan<SparsePlan<mkl::MklSparseGemm>>();
}

}  // namespace deepbench::cpu
