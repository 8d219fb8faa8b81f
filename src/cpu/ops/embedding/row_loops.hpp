// Loops over a row of a table, for every vector unit.
#pragma once

#include <cstdint>

#include "deepbench/fill.h"

namespace deepbench::cpu {

// to[i] += row[i], where the row is of float or bfloat16.
void add_row(float* to, const void* row, deepbench_type type, int64_t count);

// Stores sums as rows of this type, rounded to nearest.
void store_row(void* to, const float* sums, deepbench_type type, int64_t count);

}  // namespace deepbench::cpu
