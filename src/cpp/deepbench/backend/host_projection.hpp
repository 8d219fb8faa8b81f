// Computes the weighted row sums that verify a whole output in host memory, for any type of
// element. Header-only, for backends; host_elements.hpp defines `Workers`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "deepbench/backend/host_elements.hpp"
#include "deepbench/backend/output_checks.hpp"
#include "deepbench/backend/vector_clones.hpp"
#include "deepbench/fill.h"

namespace deepbench::plugin {

// A block of the output: a range of rows by a range of columns.
struct OutputBlock {
  uint64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
};

// Splits an output of `rows` rows among the workers. add(block, sums) adds the weighted elements of
// the block to sums[row].
template <class Workers, class Add>
void project_blocks(Workers& workers, uint64_t count, uint64_t rows, double* sums, Add add) {
  constexpr uint64_t kRowGrain = 256, kElementGrain = 1 << 16;
  const uint64_t columns = output_columns(count, rows);
  for (uint64_t row = 0; row < rows; ++row) sums[row] = 0;
  if (rows >= kRowGrain * workers.size()) {
    const uint64_t grain = count <= kElementGrain ? rows : kRowGrain;
    workers.parallel_for(rows, grain, [&](uint64_t begin, uint64_t end, size_t) {
      add(OutputBlock{begin, end, 0, columns}, sums);
    });
    return;
  }
  std::vector<std::vector<double>> partial(workers.size());
  workers.parallel_for(columns, 1 + kElementGrain / rows,
                       [&](uint64_t begin, uint64_t end, size_t worker) {
                         partial[worker].assign(rows, 0.0);
                         add(OutputBlock{0, rows, begin, end}, partial[worker].data());
                       });
  for (const auto& part : partial)
    for (size_t row = 0; row < part.size(); ++row) sums[row] += part[row];
}

// The `add` of project_blocks for elements that `value(index)` returns.
template <class Value>
inline DEEPBENCH_VECTOR_INLINED void add_block(const OutputBlock& block, uint64_t rows,
                                               uint64_t seed, double* sums, Value value) {
  for (uint64_t column = block.first_column; column < block.last_column; ++column) {
    const double weight = deepbench_weight(seed, column);
    const uint64_t base = column * rows;
    for (uint64_t row = block.first_row; row < block.last_row; ++row)
      sums[row] += weight * value(base + row);
  }
}

DEEPBENCH_VECTOR_CLONES inline void project_f32(const float* data, const OutputBlock& block,
                                                uint64_t rows, uint64_t seed, double* sums) {
  add_block(block, rows, seed, sums, [=](uint64_t i) { return double(data[i]); });
}

DEEPBENCH_VECTOR_CLONES inline void project_s32(const int32_t* data, const OutputBlock& block,
                                                uint64_t rows, uint64_t seed, double* sums) {
  add_block(block, rows, seed, sums, [=](uint64_t i) { return double(data[i]); });
}

DEEPBENCH_VECTOR_CLONES inline void project_bfloat16(const uint16_t* data, const OutputBlock& block,
                                                     uint64_t rows, uint64_t seed, double* sums) {
  add_block(block, rows, seed, sums,
            [=](uint64_t i) { return double(deepbench_from_bfloat16(data[i])); });
}

// sums[i] = sum over j of data[i + j*rows] * deepbench_weight(seed, j). `rows` must divide count.
template <class Workers>
void project(Workers& workers, const void* data, deepbench_type type, uint64_t count, uint64_t rows,
             uint64_t seed, double* sums) {
  project_blocks(workers, count, rows, sums, [&](const OutputBlock& block, double* into) {
    switch (type) {
      case DEEPBENCH_F32:
        return project_f32(static_cast<const float*>(data), block, rows, seed, into);
      case DEEPBENCH_S32:
        return project_s32(static_cast<const int32_t*>(data), block, rows, seed, into);
      case DEEPBENCH_BF16:
        return project_bfloat16(static_cast<const uint16_t*>(data), block, rows, seed, into);
      default:
        return add_block(block, rows, seed, into,
                         [&](uint64_t index) { return element(data, type, index); });
    }
  });
}

}  // namespace deepbench::plugin
