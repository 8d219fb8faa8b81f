// Lookups in plain loops in double, for tests.
#pragma once

#include <string>
#include <vector>

#include "deepbench/ops/embedding/embedding.hpp"

namespace deepbench::testing {

// What the table's gradient holds before the call.
inline std::vector<double> initial_table(const Embedding& e, uint64_t seed) {
  std::vector<double> table(size_t(e.table_elements()));
  for (size_t i = 0; i < table.size(); ++i)
    table[i] = deepbench_element(DEEPBENCH_F32, seed, Embedding::kStreamTable, i);
  return table;
}

// The exact outputs. `error` names what a kernel does wrong; empty: nothing.
inline std::vector<double> naive_embedding(const Embedding& e, uint64_t seed,
                                           const std::string& error = "") {
  std::vector<double> out =
      e.is_backward ? initial_table(e, seed) : std::vector<double>(size_t(e.outputs()));
  const int64_t dropped = error == "the last lookup dropped" ? 1 : 0;
  for (int64_t lookup = 0; lookup < e.all_lookups() - dropped; ++lookup) {
    const int64_t output_row = lookup / e.lookups_per_row();
    int64_t row = e.row_of(seed, lookup);
    if (error == "rows off by one") row = (row + 1) % e.rows;
    for (int64_t i = 0; i < e.dim; ++i) {
      const auto at_table = uint64_t(row * e.dim + i), at_row = uint64_t(output_row * e.dim + i);
      if (!e.is_backward) {
        out[at_row] += deepbench_element(e.type(), seed, Embedding::kStreamTable, at_table);
        continue;
      }
      if (error == "the gradient overwrites")
        out[at_table] = deepbench_element(DEEPBENCH_F32, seed, Embedding::kStreamTable, at_table);
      out[at_table] += deepbench_element(e.type(), seed, Embedding::kStreamDy, at_row);
    }
  }
  return out;
}

}  // namespace deepbench::testing
