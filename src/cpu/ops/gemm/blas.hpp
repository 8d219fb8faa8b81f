// The common part of OpenBLAS and MKL: column-major C functions with 32-bit dimensions that add to
// C in place. deepbench declares them itself and needs neither library's header.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "deepbench/ops/gemm/gemm.hpp"
#include "implementation.hpp"
#include "ops/gemm/operands.hpp"
#include "prepared_kernel.hpp"

namespace deepbench::cpu::blas {

// The constants of CBLAS and of MKL's extensions.
inline constexpr int kColumnMajor = 102;
inline constexpr int kNoTranspose = 111, kTranspose = 112;
inline int transposition(bool transposed) { return transposed ? kTranspose : kNoTranspose; }

using Sgemm = void (*)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);

// Dimensions and leading dimensions in the types of these libraries.
struct Shape {
  explicit Shape(const Gemm& gemm)
      : m(int(gemm.m)),
        n(int(gemm.n)),
        k(int(gemm.k)),
        lda(int(gemm.rows_a())),
        ldb(int(gemm.rows_b())),
        trans_a(transposition(gemm.trans_a)),
        trans_b(transposition(gemm.trans_b)) {}
  int m, n, k, lda, ldb, trans_a, trans_b;
};

// C += op(A) op(B) by cblas_sgemm.
inline void run_sgemm(Sgemm sgemm, const Shape& s, const GemmOperands& operands, uint64_t copy) {
  sgemm(kColumnMajor, s.trans_a, s.trans_b, s.m, s.n, s.k, 1.0f,
        static_cast<const float*>(operands.a(copy)), s.lda,
        static_cast<const float*>(operands.b(copy)), s.ldb, 1.0f,
        static_cast<float*>(operands.c(copy)), s.m);
}

// The parts of an implementation that both libraries share.
class BlasGemm : public Implementation {
 public:
  void supports(const plugin::Problem& problem, const plugin::Options& options) override;
  uint64_t memory_needed(const plugin::Problem& problem, const plugin::Options& options) override;
  std::vector<std::string> candidates(const plugin::Problem& problem,
                                      const plugin::Options& options) override;
  std::unique_ptr<plugin::Kernel> prepare(const plugin::Problem& problem,
                                          const plugin::Options& options) override;

 protected:
  // The candidates of a supported problem, with the default first. Throws plugin::Error if the
  // problem is unsupported.
  virtual std::vector<std::string> candidates_of(const Gemm& gemm) = 0;
  virtual GemmStorage storage_of(const Gemm& gemm, const std::string& candidate) = 0;
  virtual std::unique_ptr<LibraryCall> make_call(GemmOperands& operands,
                                                 const std::string& candidate, int threads) = 0;

 private:
  GemmStorage storage(const plugin::Problem& problem, const plugin::Options& options);
};

}  // namespace deepbench::cpu::blas
