// Adds two stretches of an operand element by element, in the operand's type.
#pragma once

#include <cstdint>

#include "deepbench/fill.h"

namespace deepbench::cpu {

// Computes out[i] = a[i] + b[i], rounded to the type (F32, F16 or BF16). `out` may equal a or b.
void add(deepbench_type type, const void* a, const void* b, void* out, uint64_t count);

}  // namespace deepbench::cpu
