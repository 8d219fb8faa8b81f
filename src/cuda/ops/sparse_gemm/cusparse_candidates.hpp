// The ways in which cuSPARSE can compute a sparse product: the function, its algorithm,
// preprocessed or not, and B and C in the problem's order or in the other order.
#pragma once

#include <string>
#include <vector>

#include "nvidia/cusparse.hpp"
#include "ops/sparse_gemm/layout.hpp"

namespace deepbench::cuda::sparse {

enum class Call {
  kSpmm,  // the whole product at once
  kSpmv   // cusparseSpMV for each column of B in turn
};

struct Candidate {
  Call call = Call::kSpmm;
  nvidia::cusparseSpMMAlg_t spmm = nvidia::CUSPARSE_SPMM_ALG_DEFAULT;  // for kSpmm
  nvidia::cusparseSpMVAlg_t spmv = nvidia::CUSPARSE_SPMV_ALG_DEFAULT;  // for kSpmv
  bool preprocessed = false;
  bool convert_b = false, convert_c = false;

  std::string str() const;                         // the id: "spmm:csr_alg3:preprocessed:other_b_c"
  std::string text(const SparseGemm& gemm) const;  // for readers
  const char* function() const { return call == Call::kSpmm ? "cusparseSpMM" : "cusparseSpMV"; }
  SparseLayout layout(const SparseGemm& gemm) const { return {gemm, convert_b, convert_c}; }
};

// The candidates with sums in 32 bits, the default first, then the most promising. `exhaustive`
// adds those that are not expected to be fast. Throws plugin::Error (unsupported) if there is none.
std::vector<Candidate> candidates_of(const SparseGemm& gemm, bool exhaustive = true);

}  // namespace deepbench::cuda::sparse
