// Computes sums in a fixed number of lanes, whatever the vector width of the processor.
#include "deepbench/core/sums.hpp"

#include <algorithm>
#include <cstring>

#include "deepbench/core/double4.hpp"

namespace deepbench {
namespace {

constexpr int kLanes = 16;
constexpr int kVectors = kLanes / 4;

struct Lanes {
  Double4 vectors[kVectors] = {};

  // Each step halves the number of lanes.
  DEEPBENCH_ALWAYS_INLINE double sum() const {
    double lanes[kLanes];
    std::memcpy(lanes, vectors, sizeof lanes);
    for (int width = kLanes / 2; width > 0; width /= 2)
      for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
    return lanes[0];
  }
};

enum class Squares { kOfProducts, kOfX, kNone };

// Sums x y and squares.
template <Squares kSquares, class Y>
DEEPBENCH_ALWAYS_INLINE inline DotSums sums_in_lanes(const float* x, const Y* y, int64_t count) {
  Lanes products, squares;
  const auto add = [&](const float* from_x, const Y* from_y) DEEPBENCH_ALWAYS_INLINE {
    for (int quad = 0; quad < kVectors; ++quad) {
      Double4 value, other;
      load(from_x + 4 * quad, value);
      load(from_y + 4 * quad, other);
      const Double4 product = value * other;
      products.vectors[quad] += product;
      if constexpr (kSquares == Squares::kNone) continue;
      const Double4 squared = kSquares == Squares::kOfProducts ? product : value;
      squares.vectors[quad] += squared * squared;
    }
  };
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) add(x + i, y + i);
  if (i < count) {
    float rest_x[kLanes] = {};
    Y rest_y[kLanes] = {};
    std::copy(x + i, x + count, rest_x);
    std::copy(y + i, y + count, rest_y);
    add(rest_x, rest_y);
  }
  return {products.sum(), squares.sum()};
}

template <int kColumns, bool kAddSquares>
DEEPBENCH_ALWAYS_INLINE inline void add_unrolled(const float* __restrict values, int64_t stride,
                                                 int64_t rows, const double* __restrict factors,
                                                 double* __restrict sums,
                                                 double* __restrict squares) {
  for (int64_t i = 0; i < rows; ++i) {
    double sum = sums[i], square = kAddSquares ? squares[i] : 0;
    for (int j = 0; j < kColumns; ++j) {
      const double value = values[j * stride + i];
      sum += factors[j] * value;
      if (kAddSquares) square += value * value;
    }
    sums[i] = sum;
    if (kAddSquares) squares[i] = square;
  }
}

template <bool kAddSquares>
DEEPBENCH_ALWAYS_INLINE inline void add_all_columns(const float* values, int64_t stride,
                                                    int64_t rows, int64_t columns,
                                                    const double* factors, double* sums,
                                                    double* squares) {
  constexpr int kUnrolled = 4;
  int64_t j = 0;
  for (; j + kUnrolled <= columns; j += kUnrolled)
    add_unrolled<kUnrolled, kAddSquares>(values + j * stride, stride, rows, factors + j, sums,
                                         squares);
  for (; j < columns; ++j)
    add_unrolled<1, kAddSquares>(values + j * stride, stride, rows, factors + j, sums, squares);
}

}  // namespace

DotSums dot_sums(const float* a, const float* b, int64_t count) {
  DotSums sums;
  run_vectorized(
      [&]() DEEPBENCH_ALWAYS_INLINE { sums = sums_in_lanes<Squares::kOfProducts>(a, b, count); });
  return sums;
}

DotSums weighted_sums(const float* values, const double* weights, int64_t count) {
  DotSums sums;
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    sums = sums_in_lanes<Squares::kOfX>(values, weights, count);
  });
  return sums;
}

double weighted_sum(const float* values, const double* weights, int64_t count) {
  DotSums sums;
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    sums = sums_in_lanes<Squares::kNone>(values, weights, count);
  });
  return sums.products;
}

void add_columns(const float* values, int64_t stride, int64_t rows, int64_t columns,
                 const double* factors, double* sums, double* squares) {
  if (squares)
    run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
      add_all_columns<true>(values, stride, rows, columns, factors, sums, squares);
    });
  else
    run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
      add_all_columns<false>(values, stride, rows, columns, factors, sums, nullptr);
    });
}

}  // namespace deepbench
