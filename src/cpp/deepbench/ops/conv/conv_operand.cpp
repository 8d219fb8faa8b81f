// Reads operands in runs of elements, and computes weighted sums of them.
#include "deepbench/ops/conv/conv_operand.hpp"

#include <algorithm>

#include "deepbench/core/parallel.hpp"
#include "deepbench/core/simd_level.hpp"
#include "deepbench/ops/conv/row_sums.hpp"

namespace deepbench {
namespace {

constexpr int64_t kRun = 2048;  // number of elements generated at once
constexpr int64_t kMinThreadElements = 1
                                       << 16;  // elements; less work does not repay another thread

void widen(const float* from, int64_t count, double* to) {
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    for (int64_t i = 0; i < count; ++i) to[i] = double(from[i]);
  });
}

}  // namespace

void ConvOperand::read(int64_t first, int64_t count, double* out) const {
  if (stored) {
    std::copy_n(stored->data() + first, count, out);
  } else {
    float run[kRun];
    for (int64_t done = 0; done < count; done += kRun) {
      const int64_t size = std::min(kRun, count - done);
      inputs->fill(type, stream, uint64_t(first + done), 1, size, run);
      widen(run, size, out + done);
    }
  }
  if (squared)
    run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
      for (int64_t i = 0; i < count; ++i) out[i] *= out[i];
    });
}

std::vector<double> contract(const ConvOperand& elements, const ContractionShape& shape,
                             const std::vector<double>& weights) {
  // A run holds several inner rows if they are short, or a piece of one row if it is long.
  const int64_t piece = std::min(shape.inner, kRun), pieces = (shape.inner + piece - 1) / piece;
  const int64_t rows_per_run = shape.inner <= kRun ? kRun / shape.inner : 1;
  const int64_t work = shape.outer * shape.count * shape.inner;
  std::vector<double> sums(size_t(shape.outer * shape.inner));
  parallel_tasks(shape.outer * pieces, work / kMinThreadElements, [&](int64_t task) {
    const int64_t i = task / pieces, begin = task % pieces * piece;
    const int64_t size = std::min(piece, shape.inner - begin);
    const double* factors = &weights[size_t(i / shape.repeats % shape.sets * shape.count)];
    double run[kRun];
    std::vector<RowTap> rows;
    for (int64_t j = 0; j < shape.count; j += rows_per_run) {
      const int64_t count = std::min(rows_per_run, shape.count - j);
      elements.read((i * shape.count + j) * shape.inner + begin, count * size, run);
      rows.clear();
      for (int64_t row = 0; row < count; ++row)
        rows.push_back({run + row * size, factors[j + row]});
      add_weighted_rows_of_taps(rows, size, &sums[size_t(i * shape.inner + begin)]);
    }
  });
  return sums;
}

}  // namespace deepbench
