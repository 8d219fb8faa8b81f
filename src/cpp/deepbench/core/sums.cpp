// Computes sums in a fixed number of lanes, whatever the vector width of the processor.
#include "deepbench/core/sums.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "deepbench/core/double_vectors.hpp"

namespace deepbench {
namespace {

constexpr int kLanes = 16;

// Each step halves the number of lanes.
DEEPBENCH_ALWAYS_INLINE inline double sum_of_lanes(double* lanes) {
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  return lanes[0];
}

template <class Vector>
struct Lanes {
  static constexpr int kWidth = sizeof(Vector) / sizeof(double);
  static constexpr int kVectors = kLanes / kWidth;

  Vector vectors[kVectors] = {};

  DEEPBENCH_ALWAYS_INLINE double sum() const {
    double lanes[kLanes];
    std::memcpy(lanes, vectors, sizeof lanes);
    return sum_of_lanes(lanes);
  }
};

enum class Squares { kOfProducts, kOfX, kNone };

// Sums x y and squares.
template <class Vector, Squares kSquares, class Y>
DEEPBENCH_ALWAYS_INLINE inline DotSums sums_in_lanes(const float* x, const Y* y, int64_t count) {
  Lanes<Vector> products, squares;
  const auto add = [&](const float* from_x, const Y* from_y) DEEPBENCH_ALWAYS_INLINE {
    for (int v = 0; v < Lanes<Vector>::kVectors; ++v) {
      Vector value, other;
      load(from_x + Lanes<Vector>::kWidth * v, value);
      load(from_y + Lanes<Vector>::kWidth * v, other);
      const Vector product = value * other;
      products.vectors[v] += product;
      if constexpr (kSquares == Squares::kNone) continue;
      const Vector squared = kSquares == Squares::kOfProducts ? product : value;
      squares.vectors[v] += squared * squared;
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

// The lanes are the same with both types of vectors; the wide ones need registers of their width.
template <Squares kSquares, class Y>
DotSums sums_of(const float* x, const Y* y, int64_t count) {
  DotSums sums;
  if (simd_level() == SimdLevel::kAvx512)
    run_vectorized(
        [&]() DEEPBENCH_ALWAYS_INLINE { sums = sums_in_lanes<Double8, kSquares>(x, y, count); });
  else
    run_vectorized(
        [&]() DEEPBENCH_ALWAYS_INLINE { sums = sums_in_lanes<Double4, kSquares>(x, y, count); });
  return sums;
}

// The sums of kVectorsTogether vectors with each of several others, in the lanes of dot_sums(). A
// block of the vectors is converted to double once for all others, and fits into the L1 cache.
constexpr int64_t kWideBlock = 512;  // a multiple of kLanes

struct PairLanes {
  double products[kLanes] = {}, squares[kLanes] = {};
};

// Adds a block of kVectorsTogether vectors, whose rests are zeros up to a multiple of kLanes, and
// of another vector to the lanes of their pairs.
DEEPBENCH_ALWAYS_INLINE inline void add_block_of_pairs(const double* wide, const float* other,
                                                       int64_t count, PairLanes* lanes) {
  using Sums = Lanes<Double8>;
  Double8 products[kVectorsTogether][Sums::kVectors], squares[kVectorsTogether][Sums::kVectors];
  for (int i = 0; i < kVectorsTogether; ++i) {
    std::memcpy(products[i], lanes[i].products, sizeof products[i]);
    std::memcpy(squares[i], lanes[i].squares, sizeof squares[i]);
  }
  const auto add = [&](const double* from, const float* from_other) DEEPBENCH_ALWAYS_INLINE {
    for (int v = 0; v < Sums::kVectors; ++v) {
      Double8 y;
      load(from_other + Sums::kWidth * v, y);
      for (int i = 0; i < kVectorsTogether; ++i) {
        Double8 x;
        load(from + i * kWideBlock + Sums::kWidth * v, x);
        const Double8 product = x * y;
        products[i][v] += product;
        squares[i][v] += product * product;
      }
    }
  };
  int64_t l = 0;
  for (; l + kLanes <= count; l += kLanes) add(wide + l, other + l);
  if (l < count) {
    float rest[kLanes] = {};
    std::copy(other + l, other + count, rest);
    add(wide + l, rest);
  }
  for (int i = 0; i < kVectorsTogether; ++i) {
    std::memcpy(lanes[i].products, products[i], sizeof products[i]);
    std::memcpy(lanes[i].squares, squares[i], sizeof squares[i]);
  }
}

void add_pairs_in_wide_lanes(const float* a, const float* b, int64_t others, int64_t count,
                             DotSums* sums) {
  double wide[kVectorsTogether * kWideBlock];
  std::vector<PairLanes> lanes(size_t(kVectorsTogether * others));
  for (int64_t first = 0; first < count; first += kWideBlock) {
    const int64_t size = std::min(kWideBlock, count - first);
    const int64_t padded = (size + kLanes - 1) / kLanes * kLanes;
    run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
      for (int64_t i = 0; i < kVectorsTogether; ++i) {
        double* const row = wide + i * kWideBlock;
        for (int64_t l = 0; l < size; ++l) row[l] = a[i * count + first + l];
        for (int64_t l = size; l < padded; ++l) row[l] = 0;
      }
      for (int64_t j = 0; j < others; ++j)
        add_block_of_pairs(wide, b + j * count + first, size, lanes.data() + j * kVectorsTogether);
    });
  }
  for (int64_t i = 0; i < kVectorsTogether; ++i)
    for (int64_t j = 0; j < others; ++j) {
      PairLanes& of_pair = lanes[size_t(j * kVectorsTogether + i)];
      sums[i * others + j] = {sum_of_lanes(of_pair.products), sum_of_lanes(of_pair.squares)};
    }
}

template <int kColumns, Squares kSquares>
DEEPBENCH_ALWAYS_INLINE inline void add_unrolled(const float* __restrict values, int64_t stride,
                                                 int64_t rows, const double* __restrict factors,
                                                 double* __restrict sums,
                                                 double* __restrict squares) {
  constexpr bool kAddSquares = kSquares != Squares::kNone;
  for (int64_t i = 0; i < rows; ++i) {
    double sum = sums[i], square = kAddSquares ? squares[i] : 0;
    for (int j = 0; j < kColumns; ++j) {
      const double value = values[j * stride + i], product = factors[j] * value;
      const double squared = kSquares == Squares::kOfProducts ? product : value;
      sum += product;
      if (kAddSquares) square += squared * squared;
    }
    sums[i] = sum;
    if (kAddSquares) squares[i] = square;
  }
}

template <Squares kSquares>
void add_all_columns(const float* values, int64_t stride, int64_t rows, int64_t columns,
                     const double* factors, double* sums, double* squares) {
  constexpr int kUnrolled = 4;
  run_vectorized([&]() DEEPBENCH_ALWAYS_INLINE {
    int64_t j = 0;
    for (; j + kUnrolled <= columns; j += kUnrolled)
      add_unrolled<kUnrolled, kSquares>(values + j * stride, stride, rows, factors + j, sums,
                                        squares);
    for (; j < columns; ++j)
      add_unrolled<1, kSquares>(values + j * stride, stride, rows, factors + j, sums, squares);
  });
}

}  // namespace

DotSums dot_sums(const float* a, const float* b, int64_t count) {
  return sums_of<Squares::kOfProducts>(a, b, count);
}

DotSums weighted_sums(const float* values, const double* weights, int64_t count) {
  return sums_of<Squares::kOfX>(values, weights, count);
}

DotSums weighted_products(const float* values, const double* weights, int64_t count) {
  return sums_of<Squares::kOfProducts>(values, weights, count);
}

double weighted_sum(const float* values, const double* weights, int64_t count) {
  return sums_of<Squares::kNone>(values, weights, count).products;
}

void dot_sums_of_pairs(const float* a, int64_t vectors, const float* b, int64_t others,
                       int64_t count, DotSums* sums) {
  int64_t i = 0;
  if (simd_level() == SimdLevel::kAvx512)
    for (; i + kVectorsTogether <= vectors; i += kVectorsTogether)
      add_pairs_in_wide_lanes(a + i * count, b, others, count, sums + i * others);
  for (; i < vectors; ++i)
    for (int64_t j = 0; j < others; ++j)
      sums[i * others + j] = dot_sums(a + i * count, b + j * count, count);
}

void add_columns(const float* values, int64_t stride, int64_t rows, int64_t columns,
                 const double* factors, double* sums, double* squares) {
  if (squares)
    add_all_columns<Squares::kOfX>(values, stride, rows, columns, factors, sums, squares);
  else
    add_all_columns<Squares::kNone>(values, stride, rows, columns, factors, sums, nullptr);
}

void add_columns_and_squared_products(const float* values, int64_t stride, int64_t rows,
                                      int64_t columns, const double* factors, double* sums,
                                      double* squares) {
  add_all_columns<Squares::kOfProducts>(values, stride, rows, columns, factors, sums, squares);
}

}  // namespace deepbench
