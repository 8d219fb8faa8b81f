// Launching the kernels of rnn.cu that every part of a recurrent layer's operands goes through,
// and states that are compared.
#pragma once

#include <cstdint>

#include "deepbench/ops/rnn/forward_state_check.hpp"
#include "kernels/recurrence.h"
#include "operand.hpp"

namespace deepbench::cuda {

// fill.h's elements [0, count) of a stream, times a power of two, as the type stores them.
void fill_scaled(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream_number, double scale, const Stream& stream);

// Elements times -1: of zeros, the zeros that change nothing they are added to, and that no sum is.
void negate(void* data, deepbench_type type, uint64_t count, const Stream& stream);

// As double.
void widen(const void* data, deepbench_type type, uint64_t count, double* to, const Stream& stream);

// The errors of states that were kept, against those that they should be, each near within
// `tolerance`; waits for the stream, and takes kComparisonBytes for the time being.
constexpr uint64_t kComparisonBytes = 4096 * sizeof(RecurrentErrors);
ForwardStateErrors compare_states(const double* kept, const double* right, uint64_t count,
                                  double tolerance, const Stream& stream);

}  // namespace deepbench::cuda
