// Projects a column-major matrix like any output; for a row-major matrix, each worker computes
// whole rows.
#include "ops/sparse_gemm/matrix_projection.hpp"

#include <vector>

#include "operand.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {
namespace {

constexpr uint64_t kElementsTogether = 1 << 16;

}  // namespace

void project(const FloatMatrix& matrix, uint64_t seed, double* sums) {
  if (matrix.by_columns)
    return project(matrix.data, DEEPBENCH_F32, matrix.size(), uint64_t(matrix.rows), seed, sums);
  const auto columns = uint64_t(matrix.columns);
  std::vector<double> weights(columns);
  for (uint64_t j = 0; j < columns; ++j) weights[j] = deepbench_weight(seed, j);
  host_workers().parallel_for(uint64_t(matrix.rows), 1 + kElementsTogether / columns,
                              [&](uint64_t begin, uint64_t end, size_t) {
                                for (uint64_t i = begin; i < end; ++i) {
                                  const float* const row = matrix.data + i * columns;
                                  double sum = 0;
                                  for (uint64_t j = 0; j < columns; ++j)
                                    sum += weights[j] * double(row[j]);
                                  sums[i] = sum;
                                }
                              });
}

}  // namespace deepbench::cpu
