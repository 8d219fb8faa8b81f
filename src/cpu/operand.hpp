// Operations on whole operands, on all cores: filling with the values of fill.h, poisoning,
// scanning, projecting and reading outputs.
#pragma once

#include <cstdint>

#include "deepbench/backend/inputs.hpp"
#include "deepbench/fill.h"
#include "deepbench/plugin.h"

namespace deepbench::cpu {

using plugin::Inputs;
using plugin::parse_inputs;

// data[i] = element i of operand `stream`, stored as `type`.
void fill(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
          uint32_t stream);

// The same values as floats: data[i] = element i of operand `stream` after rounding to half or
// bfloat16.
void fill_floats(float* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream);

// data[i] = the small integer i of operand `stream`, stored as the floating-point `type`.
void fill_integers(void* data, deepbench_type type, uint64_t count,
                   deepbench_small_integers integers, uint64_t seed, uint32_t stream);

// Sets every element to the poison of its type (bit_patterns.hpp).
void poison(void* data, deepbench_type type, uint64_t count);

// Returns count, untouched and non_finite of a poisoned output. For an output in place, `restored`
// holds the initial values, and an element that still has its initial value is untouched.
deepbench_scan scan(const void* data, deepbench_type type, uint64_t count,
                    const void* restored = nullptr);

// sums[i] = sum over j of data[i + j*rows] * deepbench_weight(seed, j). `rows` must divide count.
void project(const void* data, deepbench_type type, uint64_t count, uint64_t rows, uint64_t seed,
             double* sums);

double element(const void* data, deepbench_type type, uint64_t index);

}  // namespace deepbench::cpu
