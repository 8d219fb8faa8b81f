// Launching the kernels of rnn.cu that every part of a recurrent layer's operands goes through.
#pragma once

#include <cstdint>

#include "operand.hpp"

namespace deepbench::cuda {

// fill.h's elements [0, count) of a stream, times a power of two, as the type stores them.
void fill_scaled(void* data, deepbench_type type, uint64_t count, Inputs inputs, uint64_t seed,
                 uint32_t stream_number, double scale, const Stream& stream);

// Elements times -1: of zeros, the zeros that change nothing they are added to, and that no sum is.
void negate(void* data, deepbench_type type, uint64_t count, const Stream& stream);

// As double.
void widen(const void* data, deepbench_type type, uint64_t count, double* to, const Stream& stream);

// Whether no element of a is further than `tolerance` from b's; waits for the stream.
bool all_near(const double* a, const double* b, uint64_t count, double tolerance,
              const Stream& stream);

}  // namespace deepbench::cuda
