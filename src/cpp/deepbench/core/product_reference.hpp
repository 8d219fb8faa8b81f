// The shared part of references for matrix products C = op(A) op(B) + beta C. Small problems are
// checked in full. Larger problems are checked at a grid of sampled rows and columns, in some
// whole rows and columns, and as a whole by projection: C v is compared with A (B v) + beta C v.
// Output (i, j) of an m x n result has the index i + j m.
//
// The result may consist of the results of several products of m rows, one after another, each with
// its own A and B and its own number of columns. Every one of them is sampled, and a projection
// adds up all of them.
//
// Where the result is no linear function of the products, it has no projection, and the grid is
// larger.
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

  // Bytes of host memory that the reference and the comparison of an m x n result take, where the
  // result consists of `products` products.
  static double host_memory_bytes(int64_t m, int64_t n, int64_t k, int64_t products = 1,
                                  bool is_linear = true);

 protected:
  struct ExpectedElement {
    double value, bound;
    double initial;  // C before the call, without beta
  };
  // A matrix as it is stored, and whether the product uses its transpose.
  struct Operand {
    GeneratedMatrix stored;
    bool transposed;
  };

  // `columns` has the number of columns of each product's result; a product may have none.
  ProductReference(int64_t m, const std::vector<int64_t>& columns, int64_t k,
                   const KernelConditions& conditions);

  // generate_row_of_a() writes row i of op(A) of a product, which is number `grid_row` of the
  // grid's rows; generate_column_of_b() writes column j of its op(B). Both write k elements and run
  // on several threads. set_grid_rows() announces the number of grid rows first.
  virtual void set_grid_rows(size_t rows) { (void)rows; }
  virtual void generate_row_of_a(size_t product, size_t grid_row, int64_t i, float* row) = 0;
  virtual void generate_column_of_b(size_t product, int64_t j, float* column) const = 0;
  // The expected output (i, j) of the whole result, computed from the sums over that row and
  // column.
  virtual ExpectedElement expected_element(const DotSums& sums, size_t grid_row, int64_t i,
                                           int64_t j) const = 0;

  // The operands of one product; C is that of the whole result.
  virtual Operand a(size_t product) const = 0;
  virtual Operand b(size_t product) const = 0;
  virtual Operand c() const = 0;
  // The error bound of an output relative to its typical size.
  virtual double relative_bound() const = 0;
  // The largest value of outputs of calls in place for which the bounds hold.
  virtual double largest_result() const = 0;
  // A number of products that almost no output exceeds. A few rows of a sparse operand may have
  // more.
  virtual double max_terms() const { return double(k_); }
  // The mean number of products of an output.
  virtual double mean_terms() const { return double(k_); }
  virtual double output_roundoff() const = 0;
  // The typical size of an output in the largest column, as a multiple of that of all outputs.
  virtual double largest_column() const { return 1; }
  virtual bool is_linear() const { return true; }
  // Whether expected_element() needs what generate_row_of_a() found out about the row.
  virtual bool depends_on_grid_rows() const { return false; }
  // A column that is added to all columns of the result: empty, or m elements.
  virtual std::vector<double> bias() const { return {}; }
  // The conditions under which the slope is judged, because a factor of all outputs could hide in
  // the rounding of each.
  struct SlopeConditions {
    double output_roundoff;
    double max_common_error;  // relative error of sums that all outputs share
  };
  // Empty where the slope of the outputs is not judged.
  virtual std::optional<SlopeConditions> slope_conditions() const { return std::nullopt; }

  double beta() const { return beta_; }

 private:
  using Indices = std::vector<int64_t>;
  struct SampledColumns {
    Indices all, lines;
  };
  // Outputs of whole columns, which the pass over op(A) that the projection needs computes too.
  struct ColumnLines {
    Indices rows, columns;
  };

  static bool checks_all_outputs(int64_t m, int64_t n, int64_t k);
  static int64_t sample_grid_width(int64_t k, int64_t products, bool is_linear);
  int64_t compared_lines(int64_t outputs) const;
  static Indices all_indices(int64_t size);
  int64_t products() const { return int64_t(first_columns_.size()) - 1; }
  Indices random_indices(int64_t size, int64_t count, uint32_t stream, Indices chosen = {},
                         uint64_t product = 0) const;
  Indices sampled_indices(int64_t size, uint32_t stream, uint64_t product = 0) const;
  static Indices others(const Indices& chosen, int64_t size);
  Indices add_random_lines(int64_t size, int64_t count, uint64_t number, Indices& indices) const;
  SampledColumns sampled_columns() const;
  // Returns what it leaves to the projection.
  ColumnLines add_samples(ExpectedOutput& expected);
  // `initial` receives the values of the elements before the first call.
  void add_grid(const Indices& rows, const Indices& columns, ExpectedElements& expected,
                std::vector<double>& initial);
  void add_grid_of_product(size_t product, const Indices& rows, const Indices& columns,
                           size_t first, size_t end, ExpectedElements& expected,
                           std::vector<double>& initial);
  void set_point(const ExpectedElement& element, int64_t i, int64_t j, size_t point,
                 ExpectedElements& expected, std::vector<double>& initial) const;
  void add_growth(ExpectedOutput& expected) const;
  void add_unchanged_share(ExpectedOutput& expected) const;
  std::vector<std::vector<double>> columns_of_b(size_t product, const Indices& columns) const;
  void add_lines(const Indices& rows, const Indices& columns,
                 const std::vector<MatrixSums::Further>& sums, ExpectedOutput& expected) const;
  MatrixSums project_products(const std::vector<double>& weights, const ColumnLines& lines,
                              ExpectedOutput& expected) const;
  void add_projection(const ColumnLines& lines, ExpectedOutput& expected) const;
  void add_slope(ExpectedOutput& expected);

  const int64_t m_, k_;
  // First column of each product, then the number of all columns.
  const std::vector<int64_t> first_columns_;
  const int64_t n_;
  const double beta_;
  const uint64_t seed_;
  const bool is_first_check_;  // whether the algorithm's outputs are checked for the first time
};

}  // namespace deepbench
