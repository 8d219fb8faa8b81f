// The matrix product from which the reference is composed.
#pragma once

#include <cstdint>

namespace deepbench::cpu {

// A row-major matrix with elements data[row * stride + column], or its transpose.
struct MatrixView {
  const float* data;
  int64_t stride;
  bool transposed;
};

// Computes C = A B, or C + A B, with m x n elements and sums of k products. C is row-major with the
// given stride.
void multiply(int64_t m, int64_t n, int64_t k, const MatrixView& a, const MatrixView& b, float* c,
              int64_t stride, bool adds);

// Sets the number of threads of the next products on the calling thread.
void use_product_threads(int threads);

}  // namespace deepbench::cpu
