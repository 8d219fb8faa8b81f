// The specification of sparse_gemm: parameters, validity, useful work, and the dense products with
// which a row is compared.
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/product_reference.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/ops/all_ops.hpp"
#include "deepbench/ops/sparse_gemm/reference.hpp"
#include "deepbench/ops/sparse_gemm/sparse_gemm.hpp"

namespace deepbench {
namespace {

constexpr double kMaxSparse = 1 - 1.0 / 4294967296;
constexpr int64_t kMaxIndex = std::numeric_limits<int32_t>::max();

// The problem line of the same product with a dense A. gemm is column-major: where B and C are
// stored by rows, it is C^T = op(B)^T op(A)^T.
std::string dense_problem(const SparseGemm& gemm, std::string_view precision) {
  const auto trans = [](bool transposed) { return transposed ? "t" : "n"; };
  const bool turned = gemm.row_major;
  return "gemm m=" + std::to_string(turned ? gemm.n : gemm.m) +
         " n=" + std::to_string(turned ? gemm.m : gemm.n) + " k=" + std::to_string(gemm.k) +
         " trans_a=" + trans(turned ? gemm.trans_b : gemm.trans_a) +
         " trans_b=" + trans(turned ? gemm.trans_a : gemm.trans_b) +
         " precision=" + std::string(precision);
}

class SparseGemmOperation final : public Operation {
 public:
  const std::string& name() const override { return name_; }
  const std::string& help() const override { return help_; }
  const std::string& example() const override { return example_; }
  const std::vector<Parameter>& parameters() const override { return parameters_; }
  std::vector<std::string> aliases() const override { return {"sparse", "sparse-gemm"}; }
  std::vector<std::pair<std::string, std::string>> synonyms() const override {
    return {{"spmm", "sparse_gemm"}, {"spmv", "sparse_gemm"}};
  }
  double host_generated_elements(const Problem& problem) const override {
    return double(problem.integer("m")) * double(problem.integer("k"));
  }

  bool has_stored_operands(const Problem&) const override { return true; }

  void validate(const Problem& problem) const override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    checked_product("2 m n k", {2, gemm.m, gemm.n, gemm.k});
    checked_product("the size of the dense A in bytes", {gemm.m, gemm.k, 4});
    checked_product("the size of B in bytes", {gemm.k, gemm.n, 4});
    checked_product("the size of C in bytes", {gemm.m, gemm.n, 4});
    if (gemm.m > kMaxIndex || gemm.k > kMaxIndex)
      throw InvalidProblem("m and k must be at most 2147483647: A has 32-bit indices");
    if (gemm.nnz() > double(kMaxIndex))
      throw InvalidProblem(
          "the number of nonzeros, m k (1 - sparsity), must be at most 2147483647: A has "
          "32-bit indices");
  }

  // Counts the values and 32-bit column indices of the nonzeros, the row offsets, B once, and C
  // read and written.
  Work work(const Problem& problem) const override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    const double element = double(size_of(gemm.precision.a));
    return {gemm.flops(),
            gemm.nnz() * (element + 4) + (double(gemm.rows_a()) + 1) * 4 +
                double(gemm.k) * double(gemm.n) * double(size_of(gemm.precision.b)) +
                2 * double(gemm.m) * double(gemm.n) * double(size_of(gemm.precision.c))};
  }

  // Reads the number of nonzeros that the kernel counted from its fact nnz.
  std::vector<Metric> derived_metrics(const Problem& problem, const Attributes& facts,
                                      double median_ns) const override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    std::vector<Metric> metrics;
    if (facts.has("nnz")) {
      const auto nnz = double(facts.integer("nnz"));
      metrics.push_back({"nnz", "", "", nnz});
      metrics.push_back({"nnz_rate", "GFLOP/s", "higher", 2 * nnz * double(gemm.n) / median_ns});
    }
    const double dense_flops = 2.0 * double(gemm.m) * double(gemm.n) * double(gemm.k);
    metrics.push_back({"dense_rate", "GFLOP/s", "higher", dense_flops / median_ns});
    return metrics;
  }

  std::vector<Baseline> baselines(const Problem& problem) const override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    std::vector<Baseline> all = {
        {"dense baseline", "dense_time", "speedup", dense_problem(gemm, gemm.precision.name)}};
    if (gemm.precision.precision == Precision::kFloat)
      all.push_back({"dense baseline in tf32", "dense_time_tf32", "speedup_tf32",
                     dense_problem(gemm, "tf32"), /*optional=*/true});
    return all;
  }

  // Some libraries have a sparse product that does not add C.
  bool permits_condition(const Problem&, std::string_view name, const Value& value) const override {
    return name == "beta" && to_text(value) == "0";
  }
  bool has_reference() const override { return true; }
  ExpectedOutput expected_output(const Problem& problem,
                                 const KernelConditions& conditions) const override {
    return expected_sparse_gemm_output(sparse_gemm_problem(problem), conditions);
  }
  double verification_bytes(const Problem& problem) const override {
    const SparseGemm gemm = sparse_gemm_problem(problem);
    return ProductReference::host_memory_bytes(gemm.m, gemm.n, gemm.k);
  }

 private:
  std::string name_ = "sparse_gemm";
  std::string help_ = "sparse (CSR) times dense matrix, C = op(A) op(B) + C, or vector for n=1";
  std::string example_ = "sparse_gemm m=7680 n=1500 k=2560 sparsity=0.95";
  std::vector<Parameter> parameters_ = {
      {"m", ParameterKind::kInteger, "rows of op(A) and C"},
      {"n", ParameterKind::kInteger, "columns of op(B) and C"},
      {"k", ParameterKind::kInteger, "columns of op(A), rows of op(B)"},
      Parameter{"trans_a", ParameterKind::kChoice, "t: A is stored k x m", "n", {"n", "t"}}
          .with_synonyms({"transpose_a"})
          .with_title("a_t"),
      Parameter{"trans_b", ParameterKind::kChoice, "t: B is stored n x k", "n", {"n", "t"}}
          .with_synonyms({"transpose_b"})
          .with_title("b_t"),
      {"sparsity", ParameterKind::kReal, "fraction of A that is zero", "", {}, 0, kMaxSparse},
      precision_parameter("float"),
      {"order",
       ParameterKind::kChoice,
       "storage order of B and C: by columns or by rows",
       "col",
       {"col", "row"}},
  };
};

}  // namespace

const Operation& sparse_gemm_operation() {
  static const SparseGemmOperation operation;
  return operation;
}

}  // namespace deepbench
