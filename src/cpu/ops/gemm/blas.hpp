// The common part of OpenBLAS and MKL: column-major C functions with 32-bit dimensions that add to
// C in place. deepbench declares them itself and needs neither library's header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/ops/gemm/gemm.hpp"
#include "implementation.hpp"
#include "operand_cache.hpp"
#include "ops/gemm/operands.hpp"
#include "prepared_kernel.hpp"
#include "topology.hpp"

namespace deepbench::cpu::blas {

// The constants of CBLAS and of MKL's extensions.
inline constexpr int kColumnMajor = 102;
inline constexpr int kNoTranspose = 111, kTranspose = 112;
inline int transposition_code(bool transposed) { return transposed ? kTranspose : kNoTranspose; }

using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);

// Dimensions and leading dimensions in the types of these libraries.
struct BlasShape {
  explicit BlasShape(const Gemm& gemm)
      : m(int(gemm.m)),
        n(int(gemm.n)),
        k(int(gemm.k)),
        lda(int(gemm.rows_a())),
        ldb(int(gemm.rows_b())),
        trans_a(transposition_code(gemm.trans_a)),
        trans_b(transposition_code(gemm.trans_b)) {}
  int m, n, k, lda, ldb, trans_a, trans_b;
};

// Throws unsupported for dimensions that these libraries' integers cannot hold.
inline void require_int_dimensions(const Gemm& gemm) {
  if (std::max({gemm.m, gemm.n, gemm.k}) > std::numeric_limits<int32_t>::max())
    plugin::unsupported("this library's dimensions are 32-bit integers");
}

// C += op(A) op(B) by cblas_sgemm, one call for each product of a batch.
inline void run_sgemm(Sgemm sgemm, const BlasShape& s, const GemmOperands& operands,
                      uint64_t copy) {
  const auto* a = static_cast<const float*>(operands.a(copy));
  const auto* b = static_cast<const float*>(operands.b(copy));
  auto* c = static_cast<float*>(operands.c(copy));
  const int64_t m = s.m, n = s.n, k = s.k;
  for (int64_t item = 0; item < operands.gemm().batch; ++item)
    sgemm(kColumnMajor, s.trans_a, s.trans_b, s.m, s.n, s.k, 1.0f, a + item * m * k, s.lda,
          b + item * k * n, s.ldb, 1.0f, c + item * m * n, s.m);
}

// The plan of a product in a library with the following static functions:
//   library()                     its facts
//   name()                        its name and version, for rows
//   candidates(gemm)              of a supported problem, the default first; throws unsupported
//   require_explicit_choice(gemm, options)
//                                 throws unsupported for problems that only library=NAME selects
//   storage(gemm, candidate)
//   make_call(operands, candidate, threads)
//   algorithm(candidate)          for rows
template <class Library>
class BlasPlan final : public plugin::TypedPlan<BlasPlan<Library>, Gemm> {
  using Base = plugin::TypedPlan<BlasPlan<Library>, Gemm>;

 public:
  static LibraryFacts library() { return Library::library(); }
  static Gemm parse(const plugin::Problem& problem) { return gemm_problem(problem); }

  BlasPlan(const Gemm& gemm, const plugin::Options& options, const std::string& candidate)
      : Base(gemm, options),
        candidate_(checked_candidate(gemm, options, candidate)),
        storage_(Library::storage(gemm, candidate_)),
        copies_(plan_copies(storage_.touched_bytes(), options)) {}

  void describe(plugin::Sink& sink) const override {
    describe_plan(Library::name(), Library::algorithm(candidate_), storage_.needed_bytes(copies_),
                  0, sink);
  }

  std::vector<std::string> candidates(int64_t) const override {
    return Library::candidates(this->problem_);
  }

  std::unique_ptr<plugin::Kernel> prepare() const override {
    require_memory_for_operands(storage_.needed_bytes(copies_));
    const plugin::Options& options = this->options_;
    const int threads = thread_count(options.threads);
    auto operands = std::make_unique<GemmOperands>(storage_, copies_, parse_inputs(options.inputs),
                                                   options.seed);
    auto call = Library::make_call(*operands, candidate_, threads);
    return std::make_unique<PreparedKernel>(std::move(operands), std::move(call), copies_, threads);
  }

 private:
  static std::string checked_candidate(const Gemm& gemm, const plugin::Options& options,
                                       const std::string& candidate) {
    require_int_dimensions(gemm);
    if (gemm.has_epilogue())
      plugin::unsupported(Library::name() + " has no products with an epilogue");
    const std::vector<std::string> ids = Library::candidates(gemm);
    Library::require_explicit_choice(gemm, options);
    if (candidate.empty()) return ids.front();
    require_candidate(Library::name(), ids, candidate);
    return candidate;
  }

  const std::string candidate_;
  const GemmStorage storage_;
  const CopyPlan copies_;
};

}  // namespace deepbench::cpu::blas
