// What cuSPARSE may be asked to do a sparse product by: which function, which of its algorithms,
// preprocessed or not, B and C stored as the problem has them or the other way round.
#pragma once

#include <string>
#include <vector>

#include "nvidia/cusparse.hpp"
#include "ops/sparse_gemm/layout.hpp"

namespace deepbench::cuda::sparse {

enum class Call {
  kSpmm,  // the product at once
  kSpmv   // cusparseSpMV, for each column of B in turn
};

struct Candidate {
  Call call = Call::kSpmm;
  nvidia::cusparseSpMMAlg_t spmm = nvidia::CUSPARSE_SPMM_ALG_DEFAULT;  // of kSpmm
  nvidia::cusparseSpMVAlg_t spmv = nvidia::CUSPARSE_SPMV_ALG_DEFAULT;  // of kSpmv
  bool preprocessed = false;
  bool convert_b = false, convert_c = false;

  std::string str() const;                         // the id: "spmm:csr_alg3:preprocessed:other_b_c"
  std::string text(const SparseGemm& gemm) const;  // for a reader
  const char* function() const { return call == Call::kSpmm ? "cusparseSpMM" : "cusparseSpMV"; }
  SparseLayout layout(const SparseGemm& gemm) const { return {gemm, convert_b, convert_c}; }
};

// Those with sums in 32 bits, the default first, then by promise; `exhaustive`: also those of which
// nothing is to be expected. Throws plugin::Error, unsupported, where there is none.
std::vector<Candidate> candidates_of(const SparseGemm& gemm, bool exhaustive = true);

}  // namespace deepbench::cuda::sparse
