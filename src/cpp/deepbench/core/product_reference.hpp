// The shared part of references for matrix products C = op(A) op(B) + beta C. Small problems are
// checked in full. Larger problems are checked at a grid of sampled rows and columns, and as a
// whole by projection: C v is compared with A (B v) + beta C v. Output (i, j) of an m x n result
// has the index i + j m.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "deepbench/core/expected_output.hpp"
#include "deepbench/core/generated_matrix.hpp"
#include "deepbench/core/sums.hpp"

namespace deepbench {

class ProductReference {
 public:
  virtual ~ProductReference() = default;
  ExpectedOutput expected_output();

  // Bytes of host memory that the reference and the comparison take.
  static double host_memory_bytes(int64_t m, int64_t n, int64_t k);

 protected:
  struct ExpectedElement {
    double value, bound;
    double initial;  // C without its factor
  };
  // A matrix as it is stored, and whether the product uses its transpose.
  struct Operand {
    GeneratedMatrix stored;
    bool transposed;
  };

  ProductReference(int64_t m, int64_t n, int64_t k, const KernelConditions& conditions)
      : m_(m), n_(n), k_(k), beta_(conditions.beta), seed_(conditions.verification_seed) {}

  // generate_row_of_a() writes row i of op(A), which is number `grid_row` of the grid's rows;
  // generate_column_of_b() writes column j of op(B). Both write k elements and run on several
  // threads. set_grid_rows() announces the number of grid rows first.
  virtual void set_grid_rows(size_t rows) { (void)rows; }
  virtual void generate_row_of_a(size_t grid_row, int64_t i, float* row) = 0;
  virtual void generate_column_of_b(int64_t j, float* column) const = 0;
  // The expected output (i, j), computed from the sums over that row and column.
  virtual ExpectedElement expected_element(const DotSums& sums, size_t grid_row, int64_t i,
                                           int64_t j) const = 0;

  virtual Operand a() const = 0;
  virtual Operand b() const = 0;
  virtual Operand c() const = 0;
  // The error bound of an output relative to its typical size.
  virtual double relative_bound() const = 0;
  // The largest value up to which outputs of calls in place have their bounds.
  virtual double largest_result() const = 0;
  // The number of products that almost no output exceeds: a few rows of a sparse operand may have
  // more.
  virtual double max_terms() const { return double(k_); }
  // The mean number of products of an output.
  virtual double mean_terms() const { return double(k_); }
  virtual double output_roundoff() const = 0;
  // Where a factor of all outputs could hide in the rounding of each: what tells whether it does.
  struct SlopeConditions {
    double output_roundoff;
    double max_common_error;  // of sums, the same in all outputs
  };
  // Empty where the slope of the outputs is not judged.
  virtual std::optional<SlopeConditions> slope_conditions() const { return std::nullopt; }

  double beta() const { return beta_; }

 private:
  using Indices = std::vector<int64_t>;

  static bool checks_all_outputs(int64_t m, int64_t n, int64_t k);
  static int64_t sample_grid_width(int64_t k);
  static Indices all_indices(int64_t size);
  Indices random_indices(int64_t size, int64_t count, uint32_t stream, Indices chosen = {}) const;
  Indices sampled_indices(int64_t size, uint32_t stream) const;
  // Returns what the elements hold before the first call.
  std::vector<double> add_grid(const Indices& rows, const Indices& columns,
                               ExpectedElements& expected);
  void add_growth(ExpectedOutput& expected) const;
  void add_unchanged_share(ExpectedOutput& expected) const;
  void add_projection(ExpectedOutput& expected) const;
  void add_slope(ExpectedOutput& expected);

  const int64_t m_, n_, k_;
  const double beta_;
  const uint64_t seed_;
};

}  // namespace deepbench
