// Calls oneDNN's sgemm, which rows of gemm verify, or plain loops if oneDNN is absent.
#include "ops/rnn/product.hpp"

#include <algorithm>

#include "deepbench/backend/vector_clones.hpp"
#include "deepbench/plugin.hpp"
#include "worker_pool.hpp"

#ifdef DEEPBENCH_HAS_ONEDNN
#include "onednn/api.hpp"
#endif

namespace deepbench::cpu {
namespace {

DEEPBENCH_VECTOR_CLONES void add_scaled(float factor, const float* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

float dot(const float* a, int64_t stride, const float* b, int64_t count) {
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += a[i * stride] * b[i];
  return sum;
}

// Adds to one row of C.
void add_row(int64_t n, int64_t k, const float* a, int64_t a_stride, const MatrixView& b,
             float* c) {
  if (b.transposed) {
    for (int64_t j = 0; j < n; ++j) c[j] += dot(a, a_stride, b.data + j * b.stride, k);
  } else {
    for (int64_t l = 0; l < k; ++l) add_scaled(a[l * a_stride], b.data + l * b.stride, c, n);
  }
}

void multiply_by_loops(int64_t m, int64_t n, int64_t k, const MatrixView& a, const MatrixView& b,
                       float* c, int64_t stride, bool adds) {
  const int64_t row = a.transposed ? 1 : a.stride, column = a.transposed ? a.stride : 1;
  host_workers().parallel_for(uint64_t(m), 4, [&](uint64_t begin, uint64_t end, size_t) {
    for (auto i = int64_t(begin); i < int64_t(end); ++i) {
      if (!adds) std::fill_n(c + i * stride, n, 0.0f);
      add_row(n, k, a.data + i * row, column, b, c + i * stride);
    }
  });
}

}  // namespace

#ifdef DEEPBENCH_HAS_ONEDNN

void multiply(int64_t m, int64_t n, int64_t k, const MatrixView& a, const MatrixView& b, float* c,
              int64_t stride, bool adds) {
  const onednn::Api& api = onednn::Api::instance();
  if (!api.library().loaded()) return multiply_by_loops(m, n, k, a, b, c, stride, adds);
  api.check(api.sgemm_f(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0f, a.data,
                        a.stride, b.data, b.stride, adds ? 1.0f : 0.0f, c, stride),
            "the reference's matrix product");
}

void use_product_threads(int threads) {
  const onednn::Api& api = onednn::Api::instance();
  if (api.library().loaded()) api.use_threads(threads);
}

#else

void multiply(int64_t m, int64_t n, int64_t k, const MatrixView& a, const MatrixView& b, float* c,
              int64_t stride, bool adds) {
  multiply_by_loops(m, n, k, a, b, c, stride, adds);
}

void use_product_threads(int) {}

#endif

}  // namespace deepbench::cpu
