// The matrix product that the reference is composed from.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// Row-major, op(X) of stride X.stride: X[row * stride + column], or that of the transposed.
struct MatrixView {
  const float* data;
  int64_t stride;
  bool transposed;
};

// C = A B, or C + A B, of m x n elements and sums of k products, row-major with its own stride.
void multiply(int64_t m, int64_t n, int64_t k, const MatrixView& a, const MatrixView& b, float* c,
              int64_t stride, bool adds);

// Threads of the calling thread's next products.
void use_product_threads(int threads);

}  // namespace deepbench::cpu
