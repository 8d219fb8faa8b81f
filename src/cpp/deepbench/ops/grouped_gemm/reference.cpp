// The float64 reference of grouped_gemm, built on core/product_reference.hpp.
//
// C by rows is C^T by columns, an n x rows matrix that consists of the products B_g^T A_g^T. The
// product of ProductReference is therefore op(A) = B_g^T, stored k x n, times op(B) = A_g^T.
//
// Bound of one output: as of gemm without C, output_roundoff |c| + error_of_sums(k) sqrt(S^2 + c^2)
// + 4 input_roundoff S, where S^2 = sum over l of (a b)^2.
#include "deepbench/ops/grouped_gemm/reference.hpp"

#include <cmath>
#include <vector>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/product_reference.hpp"

namespace deepbench {
namespace {

std::vector<int64_t> rows_of_groups(const GroupedGemm& problem) {
  std::vector<int64_t> rows;
  for (int64_t group = 0; group < problem.groups; ++group) rows.push_back(problem.rows_of(group));
  return rows;
}

KernelConditions without_c(KernelConditions conditions) {
  conditions.beta = 0;
  return conditions;
}

class GroupedGemmReference final : public ProductReference {
 public:
  GroupedGemmReference(const GroupedGemm& problem, const KernelConditions& conditions)
      : ProductReference(problem.n, rows_of_groups(problem), problem.k, without_c(conditions)),
        problem_(problem),
        exact_(conditions.inputs == "integers"),
        inputs_(exact_ ? InputGenerator(conditions.seed, small_integers(problem))
                       : InputGenerator(conditions.seed, conditions.inputs)),
        judges_slope_(conditions.inputs == "uniform" && size_of(problem.precision.c) <= 2) {}

 private:
  static InputGenerator::SmallIntegers small_integers(const GroupedGemm& problem) {
    return {problem.integers(GroupedGemm::kStreamA), problem.integers(GroupedGemm::kStreamB), {}};
  }

  uint64_t first_of_weights(size_t group) const {
    return group * uint64_t(problem_.k * problem_.n);
  }
  uint64_t first_of_rows(size_t group) const {
    return uint64_t(problem_.first_row(int64_t(group)) * problem_.k);
  }

  Operand a(size_t group) const override {
    return {{inputs_, problem_.precision.b, GroupedGemm::kStreamB, problem_.k, problem_.n, nullptr,
             first_of_weights(group)},
            true};
  }
  Operand b(size_t group) const override {
    return {{inputs_, problem_.precision.a, GroupedGemm::kStreamA, problem_.k,
             problem_.rows_of(int64_t(group)), nullptr, first_of_rows(group)},
            false};
  }
  // The output before the call, which the result does not contain.
  Operand c() const override {
    return {{inputs_, problem_.precision.c, GroupedGemm::kStreamA, problem_.n, problem_.rows},
            false};
  }

  void generate_row_of_a(size_t group, size_t, int64_t i, float* row) override {
    inputs_.fill(problem_.precision.b, GroupedGemm::kStreamB,
                 first_of_weights(group) + uint64_t(i * problem_.k), 1, problem_.k, row);
  }
  void generate_column_of_b(size_t group, int64_t j, float* column) const override {
    inputs_.fill(problem_.precision.a, GroupedGemm::kStreamA,
                 first_of_rows(group) + uint64_t(j * problem_.k), 1, problem_.k, column);
  }

  double roundoff_of_sums() const { return error_of_sums(double(problem_.k), problem_.precision); }
  double roundoff_of_inputs() const { return 4 * problem_.precision.input_roundoff; }

  ExpectedElement expected_element(const DotSums& sums, size_t, int64_t, int64_t) const override {
    const double sum = sums.products;
    if (exact_ && std::abs(sum) * output_roundoff() <= 1) return {sum, 0, 0};
    const double error = roundoff_of_sums() * std::sqrt(sums.squares + sum * sum) +
                         roundoff_of_inputs() * std::sqrt(sums.squares);
    return {sum,
            output_roundoff() * (std::abs(sum) + error) + error +
                problem_.precision.absolute_roundoff(),
            0};
  }

  std::optional<SlopeConditions> slope_conditions() const override {
    if (!judges_slope_) return std::nullopt;
    return SlopeConditions{
        output_roundoff(),
        common_error_of_sums(double(problem_.k), problem_.precision.sum_roundoff)};
  }

  double relative_bound() const override {
    return exact_ ? 0 : output_roundoff() + roundoff_of_sums() + roundoff_of_inputs();
  }
  double output_roundoff() const override { return problem_.precision.output_roundoff; }
  double largest_result() const override { return problem_.precision.largest_result(); }

  const GroupedGemm problem_;
  const bool exact_;  // the inputs are small integers
  const InputGenerator inputs_;
  const bool judges_slope_;
};

}  // namespace

ExpectedOutput expected_grouped_gemm_output(const GroupedGemm& problem,
                                            const KernelConditions& conditions) {
  return GroupedGemmReference(problem, conditions).expected_output();
}

double grouped_gemm_verification_bytes(const GroupedGemm& problem) {
  return ProductReference::host_memory_bytes(problem.n, problem.rows, problem.k, problem.groups);
}

}  // namespace deepbench
