// The library's algorithms in the order in which `best` tries them.
#include "ops/sparse_gemm/cusparse_candidates.hpp"

#include <algorithm>
#include <array>

#include "deepbench/plugin.hpp"

namespace deepbench::cuda::sparse {
namespace {

using namespace nvidia;  // NOLINT: the vendor's names, as in its documentation

constexpr int64_t kFewColumns = 8;  // few enough that a product per column may be faster

// The operands that are stored in the other order than the problem's.
struct ConvertedOperands {
  bool b, c;
};

// The first layout stores all operands by rows, for which the library is fastest if there are many
// columns. The second is the problem's order, and the third stores only op(B) by rows.
std::array<ConvertedOperands, 3> promising_layouts(const SparseGemm& gemm) {
  const bool b = gemm.b_by_columns();
  return {{{b, !gemm.row_major}, {false, false}, {b, false}}};
}

ConvertedOperands layout_by_columns(const SparseGemm& gemm) {
  return {!gemm.b_by_columns(), gemm.row_major};
}

const char* name_of(cusparseSpMMAlg_t algorithm) {
  switch (algorithm) {
    case CUSPARSE_SPMM_CSR_ALG1:
      return "csr_alg1";
    case CUSPARSE_SPMM_CSR_ALG2:
      return "csr_alg2";
    case CUSPARSE_SPMM_CSR_ALG3:
      return "csr_alg3";
    default:
      return "default";
  }
}

const char* name_of(cusparseSpMVAlg_t algorithm) {
  switch (algorithm) {
    case CUSPARSE_SPMV_CSR_ALG1:
      return "csr_alg1";
    case CUSPARSE_SPMV_CSR_ALG2:
      return "csr_alg2";
    default:
      return "default";
  }
}

Candidate spmm(cusparseSpMMAlg_t algorithm, bool preprocessed = false) {
  Candidate candidate;
  candidate.spmm = algorithm, candidate.preprocessed = preprocessed;
  return candidate;
}

Candidate spmv(cusparseSpMVAlg_t algorithm, bool preprocessed) {
  Candidate candidate;
  candidate.call = Call::kSpmv;
  candidate.spmv = algorithm, candidate.preprocessed = preprocessed;
  return candidate;
}

bool has_all_algorithms(const SparseGemm& gemm) {
  return gemm.precision.precision == Precision::kFloat;
}

// The library optimizes CSR_ALG1 for op(B) stored by columns and CSR_ALG2 for op(B) stored by rows,
// and chooses its default accordingly. CSR_ALG3 works with either order, but only with A not
// transposed. Preprocessing affects only CSR_ALG1 and CSR_ALG3.
std::vector<Candidate> promising_algorithms(const SparseGemm& gemm, bool op_b_by_rows) {
  std::vector<Candidate> all;
  if (!gemm.trans_a) all = {spmm(CUSPARSE_SPMM_CSR_ALG3, true), spmm(CUSPARSE_SPMM_CSR_ALG3)};
  if (has_all_algorithms(gemm) && op_b_by_rows)
    all.insert(all.begin(), spmm(CUSPARSE_SPMM_CSR_ALG2));
  else if (has_all_algorithms(gemm))
    all.insert(all.end(), {spmm(CUSPARSE_SPMM_CSR_ALG1, true), spmm(CUSPARSE_SPMM_CSR_ALG1)});
  return all;
}

std::vector<Candidate> other_algorithms(const SparseGemm& gemm, bool op_b_by_rows) {
  if (!has_all_algorithms(gemm)) return {};
  if (!op_b_by_rows) return {spmm(CUSPARSE_SPMM_CSR_ALG2)};
  return {spmm(CUSPARSE_SPMM_CSR_ALG1), spmm(CUSPARSE_SPMM_CSR_ALG1, true)};
}

// For half and bfloat16, all algorithms except CSR_ALG3 add partial sums of a row to C in C's type.
Candidate default_spmm(const SparseGemm& gemm) {
  return spmm(has_all_algorithms(gemm) ? CUSPARSE_SPMM_ALG_DEFAULT : CUSPARSE_SPMM_CSR_ALG3);
}

std::vector<Candidate> spmv_candidates() {
  std::vector<Candidate> all;
  for (const auto algorithm :
       {CUSPARSE_SPMV_ALG_DEFAULT, CUSPARSE_SPMV_CSR_ALG1, CUSPARSE_SPMV_CSR_ALG2})
    for (const bool preprocessed : {false, true}) all.push_back(spmv(algorithm, preprocessed));
  return all;
}

bool has_contiguous_columns(const SparseGemm& gemm) {
  return gemm.b_by_columns() && !gemm.row_major;
}

class CandidateList {
 public:
  explicit CandidateList(const SparseGemm& gemm) : gemm_(gemm), all_({default_spmm(gemm)}) {}

  std::vector<Candidate> list(bool exhaustive) {
    if (gemm_.n <= kFewColumns && has_contiguous_columns(gemm_))
      for (const Candidate& vector : spmv_candidates()) all_.push_back(vector);
    const auto layouts = promising_layouts(gemm_);
    for (const ConvertedOperands& layout : layouts) add(promising_algorithms, layout);
    if (exhaustive) {
      for (const ConvertedOperands& layout : layouts) add(other_algorithms, layout);
      for (const ListAlgorithms list_algorithms : {promising_algorithms, other_algorithms})
        add(list_algorithms, layout_by_columns(gemm_));
    }
    return std::move(all_);
  }

 private:
  using ListAlgorithms = std::vector<Candidate> (*)(const SparseGemm&, bool op_b_by_rows);

  void add(ListAlgorithms list_algorithms, const ConvertedOperands& converted) {
    for (Candidate candidate : list_algorithms(gemm_, gemm_.b_by_columns() == converted.b)) {
      candidate.convert_b = converted.b, candidate.convert_c = converted.c;
      const auto same = [&](const Candidate& known) { return known.str() == candidate.str(); };
      if (std::none_of(all_.begin(), all_.end(), same)) all_.push_back(candidate);
    }
  }

  const SparseGemm& gemm_;
  std::vector<Candidate> all_;
};

}  // namespace

std::string Candidate::str() const {
  const bool vector = call == Call::kSpmv;
  std::string id =
      std::string(vector ? "spmv:" : "spmm:") + (vector ? name_of(spmv) : name_of(spmm));
  if (preprocessed) id += ":preprocessed";
  if (convert_b || convert_c) id += ":other";
  if (convert_b) id += "_b";
  if (convert_c) id += "_c";
  return id;
}

std::string Candidate::text(const SparseGemm& gemm) const {
  const bool vector = call == Call::kSpmv;
  std::string all = std::string(function()) + " " + (vector ? name_of(spmv) : name_of(spmm));
  if (preprocessed) all += ", preprocessed";
  if (!convert_b && !convert_c) return all;
  const bool by_rows = convert_c ? !gemm.row_major : gemm.b_by_columns();
  all += convert_b && convert_c ? ", B and C by " : convert_b ? ", B by " : ", C by ";
  return all + (by_rows ? "rows" : "columns");
}

std::vector<Candidate> candidates_of(const SparseGemm& gemm, bool exhaustive) {
  if (gemm.n == 1) return spmv_candidates();
  if (!has_all_algorithms(gemm) && gemm.trans_a)
    plugin::unsupported(
        "cuSPARSE adds partial products of a transposed sparse matrix in " +
        std::string(gemm.precision.name) +
        "; CSR_ALG3, whose sums are in 32 bits, supports only a matrix that is not transposed");
  return CandidateList(gemm).list(exhaustive);
}

}  // namespace deepbench::cuda::sparse
