// Loops of elementwise work on arrays of float or bfloat16, computed in float, for every vector
// unit.
#pragma once

#include <cstdint>

#include "deepbench/fill.h"

namespace deepbench::cpu {

// out[i] = gate[i] / (1 + exp(-gate[i])) * up[i] for begin <= i < end.
void swiglu(deepbench_type type, const void* gate, const void* up, int64_t begin, int64_t end,
            void* out);

// The arrays of a rotary embedding: the heads of x and out, one after another, and the cosines and
// sines of each row, which has `heads` heads.
struct RotaryArrays {
  const void *x, *cosines, *sines;
  void* out;
  int64_t heads, half;  // half of the elements of a head
};

// Rotates the heads [begin, end), which are numbered across all rows.
void rotate_heads(deepbench_type type, const RotaryArrays& arrays, int64_t begin, int64_t end);

}  // namespace deepbench::cpu
