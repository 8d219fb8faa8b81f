// sparse_gemm: parameters, validity and useful work.
#include "deepbench/core/operation.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench {
namespace {

class SparseGemmOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }

  void validate(const Problem& problem) const override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    checked_product("2 m n k", {2, gemm.m, gemm.n, gemm.k});
    checked_product("the size of the dense A in bytes", {gemm.m, gemm.k, 4});
    checked_product("the size of B in bytes", {gemm.k, gemm.n, 4});
    checked_product("the size of C in bytes", {gemm.m, gemm.n, 4});
  }

  // Values and 32-bit column indices of the non-zeros, row offsets, B once, C read and written.
  Work work(const Problem& problem) const override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    const double element = double(size_of(gemm.precision.a));
    return {gemm.flops(), gemm.nnz() * (element + 4) + (double(gemm.m) + 1) * 4 +
                              double(gemm.k) * double(gemm.n) * element +
                              2 * double(gemm.m) * double(gemm.n) * element};
  }

 private:
  std::string name_ = "sparse_gemm";
  std::string help_ = "sparse (CSR) times dense matrix, or vector for n=1";
  std::string example_ = "sparse_gemm m=7680 n=1500 k=2560 sparsity=0.95";
  std::vector<Parameter> parameters_ = {
      {"m", ParameterKind::kInteger, "rows of op(A) and C"},
      {"n", ParameterKind::kInteger, "columns of B and C"},
      {"k", ParameterKind::kInteger, "columns of op(A), rows of B"},
      {"trans_a", ParameterKind::kChoice, "t: A is stored k x m", "n", {"n", "t"}},
      {"trans_b", ParameterKind::kChoice, "t: B is stored n x k", "n", {"n", "t"}},
      {"sparsity", ParameterKind::kReal, "share of A that is zero", "", {}, 0, 1 - 1e-12},
      precision_parameter("float"),
  };
};

}  // namespace

const Operation& sparse_gemm_operation() {
  static const SparseGemmOperation operation;
  return operation;
}

}  // namespace deepbench
