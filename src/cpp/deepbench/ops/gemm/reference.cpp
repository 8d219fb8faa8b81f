// The float64 reference of gemm, built on core/product_reference.hpp.
//
// Bound of one output: output_roundoff |c| + error_of_sums(k) sqrt(S^2 + c^2) + 4 input_roundoff S,
// where S^2 = sum over l of (a b)^2. S is the typical size of a partial sum of random products; a
// sum with a large final value c also has large partial sums. Half adds half of the last place of
// its subnormals. With an epilogue the bias takes the place of C, and the error of the sum passes
// through relu or gelu, whose slope is at most 1.13. Integer sums are exact, and so are those of
// small integers in a floating-point type, up to the largest integer that the result's type stores
// with all smaller ones.
#include "deepbench/ops/gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "deepbench/core/error_of_sums.hpp"
#include "deepbench/core/product_reference.hpp"

namespace deepbench {
namespace {

constexpr double kSteepestGelu = 1.13;
// The error of tanh in GPU hardware, which a library may use.
constexpr double kErrorOfApproximateTanh = 1.0 / (1 << 10);

KernelConditions conditions_of(const Gemm& gemm, KernelConditions conditions) {
  if (gemm.has_epilogue()) conditions.beta = 0;
  return conditions;
}

class GemmReference final : public ProductReference {
 public:
  GemmReference(const Gemm& gemm, const KernelConditions& conditions)
      : ProductReference(gemm.m, std::vector<int64_t>(size_t(gemm.batch), gemm.n), gemm.k,
                         conditions_of(gemm, conditions)),
        gemm_(gemm),
        rounds_product_(conditions.accumulator == "rounded_product"),
        approximates_tanh_(conditions.accumulator == "approximate_tanh"),
        exact_(conditions.inputs == "integers" && gemm.precision.precision != Precision::kInt8),
        inputs_(exact_ ? InputGenerator(conditions.seed, small_integers(gemm))
                       : InputGenerator(conditions.seed, conditions.inputs)),
        scales_(conditions.seed, small_scales(exact_)),
        judges_slope_(conditions.inputs == "uniform" && conditions.accumulator != "fp22" &&
                      size_of(gemm.precision.c) <= 2 && gemm.epilogue != Epilogue::kGelu),
        type_a_(gemm.precision.a),
        type_b_(gemm.b_type),
        type_c_(gemm.precision.c) {
    // A library that converts int32 sums through float rounds them.
    if (gemm.precision.precision == Precision::kInt8 && conditions.accumulator == "float")
      gemm_.precision.output_roundoff = kRoundoffFloat;
    // The "fp22" accumulator of fp8 keeps sums of 128 products in 14 bits.
    if (conditions.accumulator == "fp22")
      gemm_.precision.input_roundoff =
          std::sqrt(double(std::min<int64_t>(gemm.k, 128))) / (1 << 13);
    for (const auto& [operand, type] : conditions.fill) {
      deepbench_type& which = operand == "a" ? type_a_ : operand == "b" ? type_b_ : type_c_;
      which = type == "s7" ? DEEPBENCH_S7 : type == "u8" ? DEEPBENCH_U8 : which;
    }
  }

 private:
  static InputGenerator::SmallIntegers small_integers(const Gemm& gemm) {
    return {gemm.integers(Gemm::kStreamA), gemm.integers(Gemm::kStreamB),
            gemm.integers(Gemm::kStreamC)};
  }

  static InputGenerator::SmallIntegers small_scales(bool exact) {
    InputGenerator::SmallIntegers integers;
    integers.fill(Gemm::scales(exact));
    return integers;
  }

  // The index of the first element of A and of B of a product.
  uint64_t first_of_a(size_t product) const { return product * uint64_t(gemm_.m * gemm_.k); }
  uint64_t first_of_b(size_t product) const { return product * uint64_t(gemm_.k * gemm_.n); }

  // The scales of an operand as it is stored. In op(A) or op(B), a block has 128 rows and `columns`
  // columns, and the scales of the same 128 rows are adjacent.
  std::optional<BlockScales> scales(uint32_t stream, int64_t columns, int64_t scales_of_rows,
                                    bool transposed) const {
    constexpr int64_t kRows = Gemm::kScaleBlock;
    if (!gemm_.scales_blocks) return std::nullopt;
    if (transposed) return BlockScales{scales_, stream, columns, kRows, 1, scales_of_rows};
    return BlockScales{scales_, stream, kRows, columns, scales_of_rows, 1};
  }

  Operand a(size_t product) const override {
    return {{inputs_, type_a_, Gemm::kStreamA, gemm_.rows_a(), gemm_.columns_a(), nullptr,
             first_of_a(product),
             scales(Gemm::kStreamScaleA, Gemm::kScaleBlock, gemm_.blocks_k(), gemm_.trans_a)},
            gemm_.trans_a};
  }
  Operand b(size_t product) const override {
    return {{inputs_, type_b_, Gemm::kStreamB, gemm_.rows_b(), gemm_.columns_b(), nullptr,
             first_of_b(product), scales(Gemm::kStreamScaleB, 1, gemm_.n, gemm_.trans_b)},
            gemm_.trans_b};
  }
  Operand c() const override {
    return {{inputs_, type_c_, Gemm::kStreamC, gemm_.m, gemm_.n * gemm_.batch}, false};
  }

  void generate_row_of_a(size_t product, size_t, int64_t i, float* row) override {
    const auto stride = static_cast<uint64_t>(gemm_.trans_a ? 1 : gemm_.m);
    inputs_.fill(type_a_, Gemm::kStreamA, first_of_a(product) + gemm_.index_a(i, 0), stride,
                 gemm_.k, row);
    scale_blocks(Gemm::kStreamScaleA, i / Gemm::kScaleBlock * gemm_.blocks_k(), 1, row);
  }

  void generate_column_of_b(size_t product, int64_t j, float* column) const override {
    const auto stride = static_cast<uint64_t>(gemm_.trans_b ? gemm_.n : 1);
    inputs_.fill(type_b_, Gemm::kStreamB, first_of_b(product) + gemm_.index_b(0, j), stride,
                 gemm_.k, column);
    scale_blocks(Gemm::kStreamScaleB, j, gemm_.n, column);
  }

  // Multiplies each block along k by its scale, exactly: an 8-bit number times a small integer.
  void scale_blocks(uint32_t stream, int64_t first, int64_t stride, float* elements) const {
    if (!gemm_.scales_blocks) return;
    for (int64_t l = 0; l < gemm_.k; ++l) {
      const auto index = uint64_t(first + l / Gemm::kScaleBlock * stride);
      elements[l] *= float(scales_.element(DEEPBENCH_F32, stream, index));
    }
  }

  bool is_stored_exactly(double integer) const {
    return std::abs(integer) * gemm_.precision.output_roundoff <= 1;
  }

  double roundoff_of_sums() const { return error_of_sums(double(gemm_.k), gemm_.precision); }
  double roundoff_of_inputs() const { return 4 * gemm_.precision.input_roundoff; }

  ExpectedElement expected_element(const DotSums& sums, size_t, int64_t i,
                                   int64_t j) const override {
    if (gemm_.has_epilogue()) return element_after_epilogue(sums, i);
    const auto index = static_cast<uint64_t>(i + j * gemm_.m);
    const double initial = beta() == 0 ? 0 : inputs_.element(type_c_, Gemm::kStreamC, index);
    const double c = beta() * initial;
    const double sum = sums.products + c;
    if (exact_ && is_stored_exactly(sum) && is_stored_exactly(sums.products))
      return {sum, 0, initial};
    const double sums_error = error_of_sum(sums, c);
    const double rounded = std::abs(sum) + (rounds_product_ ? std::abs(sums.products) : 0);
    const double smallest = (rounds_product_ ? 2 : 1) * gemm_.precision.absolute_roundoff();
    return {sum, gemm_.precision.output_roundoff * (rounded + sums_error) + sums_error + smallest,
            initial};
  }

  double error_of_sum(const DotSums& sums, double added) const {
    const double squares = sums.squares + added * added, sum = sums.products + added;
    return roundoff_of_sums() * std::sqrt(squares + sum * sum) +
           roundoff_of_inputs() * std::sqrt(squares);
  }

  ExpectedElement element_after_epilogue(const DotSums& sums, int64_t i) const {
    const double bias = inputs_.element(type_c_, Gemm::kStreamC, uint64_t(i));
    const double sum = sums.products + bias;
    const bool is_gelu = gemm_.epilogue == Epilogue::kGelu;
    const double value = is_gelu                             ? gelu(sum)
                         : gemm_.epilogue == Epilogue::kRelu ? std::max(0.0, sum)
                                                             : sum;
    if (exact_ && !is_gelu && is_stored_exactly(sum)) return {value, 0, 0};
    double error = error_of_sum(sums, bias);
    if (is_gelu) error = kSteepestGelu * error + error_of_gelu(sum);
    return {
        value,
        output_roundoff() * (std::abs(value) + error) + error + gemm_.precision.absolute_roundoff(),
        0};
  }

  // The error of gelu itself, whose tanh is rounded near 1 where the result is small.
  double error_of_gelu(double sum) const {
    constexpr double kRoundings = 8;
    const double of_tanh =
        approximates_tanh_ ? kErrorOfApproximateTanh : kRoundings * kRoundoffFloat;
    return of_tanh * std::abs(sum) / 2;
  }

  bool is_linear() const override { return !is_nonlinear(gemm_.epilogue); }
  // The typical size of a column of B whose scales all have the largest value.
  double largest_column() const override {
    if (!gemm_.scales_blocks) return 1;
    const double mean_square = scales_.mean_square(DEEPBENCH_F32, Gemm::kStreamScaleB);
    return Gemm::scales(exact_).largest / std::sqrt(mean_square);
  }
  std::vector<double> bias() const override {
    std::vector<double> all(gemm_.has_epilogue() ? size_t(gemm_.m) : 0);
    for (size_t i = 0; i < all.size(); ++i) all[i] = inputs_.element(type_c_, Gemm::kStreamC, i);
    return all;
  }

  // The slope requires independent errors: equal inputs cause equal roundings, and the errors of
  // 14-bit sums, which are truncated, do not cancel either.
  std::optional<SlopeConditions> slope_conditions() const override {
    if (!judges_slope_) return std::nullopt;
    return SlopeConditions{gemm_.precision.output_roundoff,
                           common_error_of_sums(double(gemm_.k), gemm_.precision.sum_roundoff)};
  }

  double relative_bound() const override {
    if (exact_) return 0;
    return (rounds_product_ ? 2 : 1) * gemm_.precision.output_roundoff + roundoff_of_sums() +
           roundoff_of_inputs();
  }

  double output_roundoff() const override { return gemm_.precision.output_roundoff; }

  double largest_result() const override {
    return exact_ ? 1 / gemm_.precision.output_roundoff : gemm_.precision.largest_result();
  }

  Gemm gemm_;
  const bool rounds_product_;  // the product is rounded to the output's type before C is added
  const bool approximates_tanh_;
  const bool exact_;  // the inputs are small integers
  const InputGenerator inputs_, scales_;
  const bool judges_slope_;
  deepbench_type type_a_, type_b_, type_c_;
};

}  // namespace

ExpectedOutput expected_gemm_output(const Gemm& gemm, const KernelConditions& conditions) {
  return GemmReference(gemm, conditions).expected_output();
}

}  // namespace deepbench
