// Adding two parts of an operand, as its type stores them.
#pragma once

#include <cstdint>

#include "deepbench/fill.h"

namespace deepbench::cpu {

// out[i] = a[i] + b[i], each sum rounded to the type: F32, F16 or BF16. `out` may be a or b.
void add(deepbench_type type, const void* a, const void* b, void* out, uint64_t count);

}  // namespace deepbench::cpu
