// Launches the kernels in rnn.cu that process whole operands of a recurrent layer, and compares
// states.
#pragma once

#include <cstdint>

#include "deepbench/ops/rnn/forward_state_check.hpp"
#include "kernels/recurrence.h"
#include "operand.hpp"

namespace deepbench::cuda {

// Writes elements [0, count) of a stream of fill.h, multiplied by a power of two, as the type
// stores them.
void fill_scaled(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream_number, double scale, const Stream& stream);

// Multiplies elements by -1. Negated zeros change nothing when values are added to them, and no sum
// produces them.
void negate(void* data, deepbench_type type, uint64_t count, const Stream& stream);

// Widens to double, in which compare_states() works.
void widen(const void* data, deepbench_type type, uint64_t count, double* to, const Stream& stream);

// Compares stored states with expected ones, where a difference up to `tolerance` is allowed. Waits
// for the stream and temporarily allocates kComparisonBytes.
constexpr uint64_t kComparisonBytes = 4096 * sizeof(RecurrentErrors);
ForwardStateErrors compare_states(const double* stored, const double* expected, uint64_t count,
                                  double tolerance, const Stream& stream);

}  // namespace deepbench::cuda
