// What a backend does to whole operands, on all cores: fill them by fill.h, poison outputs, look
// at every element, project, read.
#pragma once

#include <cstdint>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/fill.h"
#include "deepbench/plugin.h"

namespace deepbench::cpu {

using plugin::Inputs;
using plugin::parse_inputs;

// data[i] = element i of operand `stream`, as `type` stores it.
void fill(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
          uint32_t stream);

// The same elements in float: data[i] = element i of operand `stream` as half or bfloat16 stores
// it.
void fill_floats(float* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream);

// Not-a-numbers of one bit pattern; integers DEEPBENCH_POISON_INTEGER, or -127 where it does not
// fit, which an output of one byte may hold by right.
void poison(void* data, deepbench_type type, uint64_t count);

// count, untouched and non_finite of a poisoned output. With `restored`, the values that an output
// in place had before, an element is untouched if it still has them.
deepbench_scan scan(const void* data, deepbench_type type, uint64_t count,
                    const void* restored = nullptr);

// sums[i] = sum over j of data[i + j*rows] * deepbench_weight(seed, j). count is a multiple of
// rows.
void project(const void* data, deepbench_type type, uint64_t count, uint64_t rows, uint64_t seed,
             double* sums);

double element(const void* data, deepbench_type type, uint64_t index);

}  // namespace deepbench::cpu
