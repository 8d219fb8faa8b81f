// The weighted row sums that verify a whole output, for any type of element.
#pragma once

#include <cstdint>
#include <vector>

#include "deepbench/backend/output_checks.hpp"
#include "deepbench/fill.h"
#include "worker_pool.hpp"

namespace deepbench::cpu {

// A block of the output: a range of rows by a range of columns.
struct OutputBlock {
  uint64_t first_row = 0, last_row = 0, first_column = 0, last_column = 0;
};

// Splits an output of `rows` rows among the workers. add(block, sums) adds the weighted elements of
// the block to sums[row].
template <class Add>
void project_blocks(uint64_t count, uint64_t rows, double* sums, Add add) {
  constexpr uint64_t kRowGrain = 256, kElementGrain = 1 << 16;
  const uint64_t columns = plugin::output_columns(count, rows);
  WorkerPool& workers = host_workers();
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
inline __attribute__((always_inline)) void add_block(const OutputBlock& block, uint64_t rows,
                                                     uint64_t seed, double* sums, Value value) {
  for (uint64_t column = block.first_column; column < block.last_column; ++column) {
    const double weight = deepbench_weight(seed, column);
    const uint64_t base = column * rows;
    for (uint64_t row = block.first_row; row < block.last_row; ++row)
      sums[row] += weight * value(base + row);
  }
}

}  // namespace deepbench::cpu
