// The float64 reference of gemm: small problems in full; larger ones on a grid of sampled rows and
// columns, and the whole by projection, C v against A (B v) + beta C v.
//
// Bound of one output: output_roundoff |c| + 4 sqrt(k) sum_roundoff sqrt(S^2 + c^2) +
// 4 input_roundoff S, where S^2 = sum over l of (a b)^2: S is the typical size of a partial sum of
// random products, and sums that end far out were far out for long. Summing in any order errs by
// about 0.4 sqrt(k) sum_roundoff S, so 4 sqrt(k) leaves a factor of ten.
// Integers are exact.
#include "deepbench/ops/gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "deepbench/core/generated_matrix.hpp"
#include "deepbench/core/inputs.hpp"
#include "deepbench/core/parallel.hpp"
#include "deepbench/core/sums.hpp"

namespace deepbench {
namespace {

constexpr double kFullWork = 1 << 24;  // outputs x k up to which everything is checked
constexpr int64_t kMostFullOutputs = 1 << 20;
constexpr double kGridWork = 1 << 24;  // grid points x k
constexpr int64_t kWidestGrid = 24;
constexpr int64_t kWorkOfThread = 1 << 17;  // products that are worth starting a thread
constexpr uint64_t kWeightSeed = 0x5eed;

class GemmReference {
 public:
  GemmReference(const Gemm& gemm, const Conditions& conditions)
      : gemm_(gemm),
        beta_(conditions.beta),
        rounds_product_(conditions.accumulator == "rounded_product"),
        inputs_(conditions.seed, conditions.inputs),
        type_a_(gemm.precision.a),
        type_b_(gemm.b_type),
        type_c_(gemm.precision.c) {
    // Integers whose sums pass through float on their way out.
    if (gemm.precision.precision == Precision::kInt8 && conditions.accumulator == "float")
      gemm_.precision.output_roundoff = kRoundoffFloat;
    // Of 8-bit floating-point numbers: sums of 128 products are kept in 14 bits.
    if (conditions.accumulator == "fp22")
      gemm_.precision.input_roundoff =
          std::sqrt(double(std::min<int64_t>(gemm.k, 128))) / (1 << 13);
    for (const auto& [operand, type] : conditions.fill) {
      deepbench_type& which = operand == "a" ? type_a_ : operand == "b" ? type_b_ : type_c_;
      which = type == "s7" ? DEEPBENCH_S7 : type == "u8" ? DEEPBENCH_U8 : which;
    }
  }

  Expectation expect() {
    Expectation expected;
    expected.outputs = static_cast<uint64_t>(gemm_.m * gemm_.n);
    const double all = double(gemm_.m) * double(gemm_.n);
    if (all * double(gemm_.k) <= kFullWork && gemm_.m * gemm_.n <= kMostFullOutputs) {
      add_grid(every(gemm_.m), every(gemm_.n), expected);
      expected.what = "all " + std::to_string(gemm_.m * gemm_.n) + " outputs";
      return expected;
    }
    add_grid(sampled(gemm_.m, 11), sampled(gemm_.n, 12), expected);
    add_projection(expected);
    expected.what = std::to_string(expected.indices.size()) + " of " +
                    std::to_string(gemm_.m * gemm_.n) + " outputs and " + std::to_string(gemm_.m) +
                    " projections of all";
    return expected;
  }

 private:
  static std::vector<int64_t> every(int64_t size) {
    std::vector<int64_t> all(static_cast<size_t>(size));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }

  // Both ends, the borders of tiles of 16 to 256, and random places: sorted, without repeats.
  std::vector<int64_t> sampled(int64_t size, uint32_t stream) const {
    const double budget = std::sqrt(kGridWork / double(gemm_.k));
    const auto width = static_cast<int64_t>(std::clamp(budget, 4.0, double(kWidestGrid)));
    if (size <= width) return every(size);
    std::vector<int64_t> chosen = {0, size - 1};
    for (int64_t tile = 16; tile <= 256 && int64_t(chosen.size()) + 1 < width / 2; tile *= 2)
      if (tile < size) chosen.insert(chosen.end(), {tile - 1, tile});
    for (uint64_t i = 0; int64_t(chosen.size()) < width; ++i)
      chosen.push_back(
          static_cast<int64_t>(deepbench_bits(kWeightSeed, stream, i) % uint64_t(size)));
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
  }

  GeneratedMatrix a() const {
    return {inputs_, type_a_, Gemm::kStreamA, gemm_.rows_a(), gemm_.columns_a()};
  }
  GeneratedMatrix b() const {
    return {inputs_, type_b_, Gemm::kStreamB, gemm_.rows_b(), gemm_.columns_b()};
  }
  GeneratedMatrix c() const { return {inputs_, type_c_, Gemm::kStreamC, gemm_.m, gemm_.n}; }

  void row_of_a(int64_t i, float* row) const {
    const auto stride = static_cast<uint64_t>(gemm_.trans_a ? 1 : gemm_.m);
    inputs_.run(type_a_, Gemm::kStreamA, gemm_.index_a(i, 0), stride, gemm_.k, row);
  }

  void column_of_b(int64_t j, float* column) const {
    const auto stride = static_cast<uint64_t>(gemm_.trans_b ? gemm_.n : 1);
    inputs_.run(type_b_, Gemm::kStreamB, gemm_.index_b(0, j), stride, gemm_.k, column);
  }

  double roundoff_of_sums() const {
    return 4 * std::sqrt(double(gemm_.k)) * gemm_.precision.sum_roundoff;
  }
  double roundoff_of_inputs() const { return 4 * gemm_.precision.input_roundoff; }

  // Every combination of the given rows and columns.
  void add_grid(const std::vector<int64_t>& rows, const std::vector<int64_t>& columns,
                Expectation& expected) const {
    const int64_t smallest_part = 1 + kWorkOfThread / gemm_.k;
    const auto height = static_cast<int64_t>(rows.size()), all = height + int64_t(columns.size());
    // Rows, then columns; first touched, page for page, by the threads.
    const std::unique_ptr<float[]> vectors(new float[size_t(all * gemm_.k)]);
    parallel_for(all, smallest_part, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        float* const vector = vectors.get() + i * gemm_.k;
        if (i < height)
          row_of_a(rows[size_t(i)], vector);
        else
          column_of_b(columns[size_t(i - height)], vector);
      }
    });

    const size_t points = rows.size() * columns.size();
    expected.indices.resize(points), expected.values.resize(points), expected.bounds.resize(points);
    parallel_for(int64_t(points), smallest_part, [&](int64_t begin, int64_t end, int) {
      for (int64_t point = begin; point < end; ++point) {
        const int64_t r = point % height, c = point / height;
        const DotSums sums =
            dot_sums(vectors.get() + r * gemm_.k, vectors.get() + (height + c) * gemm_.k, gemm_.k);
        set_point(sums, rows[size_t(r)] + columns[size_t(c)] * gemm_.m, size_t(point), expected);
      }
    });
  }

  void set_point(const DotSums& sums, int64_t index, size_t at, Expectation& expected) const {
    const double c =
        beta_ == 0 ? 0 : beta_ * inputs_.element(type_c_, Gemm::kStreamC, uint64_t(index));
    const double sum = sums.products + c;
    const double squares = sums.squares + c * c;
    const double sums_error = roundoff_of_sums() * std::sqrt(squares + sum * sum) +
                              roundoff_of_inputs() * std::sqrt(squares);
    expected.indices[at] = static_cast<uint64_t>(index);
    expected.values[at] = sum;
    const double rounded = std::abs(sum) + (rounds_product_ ? std::abs(sums.products) : 0);
    expected.bounds[at] = gemm_.precision.output_roundoff * (rounded + sums_error) + sums_error;
  }

  // The error of a projected row is a random sum of n errors of single outputs; their bound is
  // taken with B's mean square, and doubled. Summing in double adds the last term.
  void add_projection(Expectation& expected) const {
    std::vector<float> run(size_t(gemm_.n));
    weight_run(kWeightSeed, 0, gemm_.n, run.data());
    const std::vector<double> weights(run.begin(), run.end());
    const MatrixSums b_weights = times_vector(b(), gemm_.trans_b, weights);
    MatrixSums total = times_vector(a(), gemm_.trans_a, b_weights.sums);
    if (beta_ != 0) {
      const MatrixSums added = times_vector(c(), false, weights);
      for (size_t i = 0; i < total.sums.size(); ++i) total.sums[i] += beta_ * added.sums[i];
    }
    expected.sums = std::move(total.sums);
    const std::vector<double>& squares = total.squares;

    const double mean_square_b = inputs_.mean_square(type_b_);
    const double c_square = beta_ * beta_ * inputs_.mean_square(type_c_);
    const double relative = (rounds_product_ ? 2 : 1) * gemm_.precision.output_roundoff +
                            roundoff_of_sums() + roundoff_of_inputs();
    expected.sum_bounds.resize(expected.sums.size());
    for (size_t i = 0; i < squares.size(); ++i) {
      const double typical = std::sqrt(squares[i] * mean_square_b + c_square);
      const double doubles = 1e-13 * (1 + std::sqrt(double(gemm_.k)));
      expected.sum_bounds[i] =
          2 * std::sqrt(double(gemm_.n)) * typical * (relative + doubles) + 1e-300;
    }
    expected.projection_rows = static_cast<uint64_t>(gemm_.m);
    expected.projection_seed = kWeightSeed;
  }

  Gemm gemm_;
  const double beta_;
  const bool rounds_product_;  // to the output's type, before C is added
  const Inputs inputs_;
  deepbench_type type_a_, type_b_, type_c_;
};

}  // namespace

Expectation expect_gemm(const Gemm& gemm, const Conditions& conditions) {
  return GemmReference(gemm, conditions).expect();
}

}  // namespace deepbench
