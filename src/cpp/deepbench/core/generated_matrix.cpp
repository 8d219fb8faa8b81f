// Splits a generated matrix into tiles for the threads, and tiles into blocks for the caches.
#include "deepbench/core/generated_matrix.hpp"

#include <algorithm>

#include "deepbench/core/parallel.hpp"
#include "deepbench/core/simd_level.hpp"
#include "deepbench/core/sums.hpp"

namespace deepbench {
namespace {

constexpr int64_t kTiles = 128;        // enough for 16 threads to finish at about the same time
constexpr int64_t kMinTile = 1 << 14;  // in elements, which take about 20 us
// In elements; a further thread does not pay off for less work.
constexpr int64_t kMinThreadWork = 1 << 16;
constexpr int64_t kBlockRows = 512;  // a block and its sums fit into the L1 cache
constexpr int64_t kBlockColumns = 4;

struct Range {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

Range range_of_part(int64_t size, int64_t part, int64_t parts) {
  return {size * part / parts, size * (part + 1) / parts};
}

class MatrixVectorProduct {
 public:
  MatrixVectorProduct(const GeneratedMatrix& matrix, bool transposed, const std::vector<double>& x,
                      bool with_squares, const std::vector<std::vector<double>>& further)
      : matrix_(matrix),
        transposed_(transposed),
        x_(x),
        with_squares_(with_squares),
        further_(further) {
    const int64_t tiles = std::clamp<int64_t>(matrix.rows * matrix.columns / kMinTile, 1, kTiles);
    const int64_t max_output_tiles =
        transposed ? matrix.columns : (matrix.rows + kBlockRows - 1) / kBlockRows;
    // Tiles along the output write separate sums; only tiles along the reduction are added up.
    output_tiles_ = std::clamp<int64_t>(max_output_tiles, 1, tiles);
    reduction_tiles_ =
        std::clamp<int64_t>(tiles / output_tiles_, 1, transposed ? matrix.rows : matrix.columns);
  }

  MatrixSums compute() {
    const auto size = static_cast<size_t>(output_count() * reduction_tiles_);
    total_.sums.assign(size, 0);
    if (with_squares_) total_.squares.assign(size, 0);
    total_.further.resize(further_.size());
    for (MatrixSums::Further& further : total_.further)
      further.sums.assign(size, 0), further.squares.assign(size, 0);
    parallel_tasks(output_tiles_ * reduction_tiles_,
                   matrix_.rows * matrix_.columns / kMinThreadWork,
                   [this](int64_t tile) { add_tile(tile % output_tiles_, tile / output_tiles_); });
    add_partial_sums(total_.sums);
    if (with_squares_) add_partial_sums(total_.squares);
    for (MatrixSums::Further& further : total_.further) {
      add_partial_sums(further.sums);
      add_partial_sums(further.squares);
    }
    return std::move(total_);
  }

 private:
  int64_t output_count() const { return transposed_ ? matrix_.columns : matrix_.rows; }

  void add_partial_sums(std::vector<double>& partial) const {
    const auto size = static_cast<size_t>(output_count());
    for (size_t tile = size; tile < partial.size(); tile += size)
      for (size_t i = 0; i < size; ++i) partial[i] += partial[tile + i];
    partial.resize(size);
  }

  void add_tile(int64_t output_tile, int64_t reduction_tile) {
    const int64_t first = reduction_tile * output_count();  // of this tile's partial sums
    const Range output_range = range_of_part(output_count(), output_tile, output_tiles_);
    const Range reduction_range = range_of_part(transposed_ ? matrix_.rows : matrix_.columns,
                                                reduction_tile, reduction_tiles_);
    const Range rows = transposed_ ? reduction_range : output_range,
                columns = transposed_ ? output_range : reduction_range;
    for (int64_t row = rows.begin; row < rows.end; row += kBlockRows) {
      const Range block = {row, std::min(row + kBlockRows, rows.end)};
      if (transposed_)
        add_by_columns(block, columns, first);
      else
        add_by_rows(block, columns, first);
    }
  }

  void generate(Range rows, int64_t column, float* out) const {
    const uint64_t first =
        matrix_.first + static_cast<uint64_t>(column * matrix_.rows + rows.begin);
    matrix_.inputs.fill(matrix_.type, matrix_.stream, first, 1, rows.size(), out);
    if (matrix_.pattern) apply_pattern(*matrix_.pattern, first, rows.size(), out);
    if (matrix_.scales) apply_scales(*matrix_.scales, rows, column, out);
  }

  static void apply_pattern(const SparsityPattern& pattern, uint64_t first, int64_t count,
                            float* out) {
    uint32_t words[kBlockRows];
    fill_words(pattern.seed, pattern.stream, first, count, words);
    run_vectorized([&, threshold = pattern.threshold]() DEEPBENCH_ALWAYS_INLINE {
      for (int64_t i = 0; i < count; ++i) out[i] = words[i] < threshold ? 0.0f : out[i];
    });
  }

  static void apply_scales(const BlockScales& of, Range rows, int64_t column, float* out) {
    const Range blocks = {rows.begin / of.height, (rows.end - 1) / of.height + 1};
    float scales[kBlockRows];
    const int64_t first = blocks.begin * of.down + column / of.width * of.right;
    of.inputs.fill(DEEPBENCH_F32, of.stream, uint64_t(first), uint64_t(of.down), blocks.size(),
                   scales);
    for (int64_t block = 0, row = rows.begin; block < blocks.size(); ++block)
      for (const int64_t end = std::min((blocks.begin + block + 1) * of.height, rows.end);
           row < end; ++row)
        out[row - rows.begin] *= scales[block];
  }

  void add_by_rows(Range rows, Range columns, int64_t first) {
    float block[kBlockColumns * kBlockRows];
    const auto from = size_t(first + rows.begin);
    for (int64_t column = columns.begin; column < columns.end; column += kBlockColumns) {
      const int64_t count = std::min(kBlockColumns, columns.end - column);
      for (int64_t j = 0; j < count; ++j) generate(rows, column + j, block + j * kBlockRows);
      add_columns(block, kBlockRows, rows.size(), count, x_.data() + column, &total_.sums[from],
                  with_squares_ ? &total_.squares[from] : nullptr);
      for (size_t i = 0; i < further_.size(); ++i)
        add_columns_and_squared_products(block, kBlockRows, rows.size(), count,
                                         further_[i].data() + column, &total_.further[i].sums[from],
                                         &total_.further[i].squares[from]);
    }
  }

  void add_by_columns(Range rows, Range columns, int64_t first) {
    float block[kBlockRows];
    for (int64_t column = columns.begin; column < columns.end; ++column) {
      generate(rows, column, block);
      const auto to = size_t(first + column);
      const double* const weights = x_.data() + rows.begin;
      if (with_squares_) {
        const DotSums added = weighted_sums(block, weights, rows.size());
        total_.sums[to] += added.products;
        total_.squares[to] += added.squares;
      } else {
        total_.sums[to] += weighted_sum(block, weights, rows.size());
      }
      for (size_t i = 0; i < further_.size(); ++i) {
        const DotSums added =
            weighted_products(block, further_[i].data() + rows.begin, rows.size());
        total_.further[i].sums[to] += added.products;
        total_.further[i].squares[to] += added.squares;
      }
    }
  }

  const GeneratedMatrix& matrix_;
  const bool transposed_;
  const std::vector<double>& x_;
  const bool with_squares_;
  const std::vector<std::vector<double>>& further_;
  int64_t output_tiles_ = 1, reduction_tiles_ = 1;
  MatrixSums total_;
};

}  // namespace

std::vector<double> multiply_by_vector(const GeneratedMatrix& matrix, bool transposed,
                                       const std::vector<double>& x) {
  return MatrixVectorProduct(matrix, transposed, x, /*with_squares=*/false, {}).compute().sums;
}

MatrixSums multiply_by_vector_with_squares(const GeneratedMatrix& matrix, bool transposed,
                                           const std::vector<double>& x,
                                           const std::vector<std::vector<double>>& further) {
  return MatrixVectorProduct(matrix, transposed, x, /*with_squares=*/true, further).compute();
}

}  // namespace deepbench
