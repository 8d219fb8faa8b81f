// The device's pool of memory, from which buffers come. What they give back stays in it: asking the
// driver anew takes up to a millisecond.
#pragma once

#include <cstdint>

namespace deepbench::cuda {

// Makes the pool keep what it is given back.
void keep_pool(int device);

// Bytes that the pool holds and nobody uses.
uint64_t idle_in_pool(int device);

// Returns what nobody uses to the device.
void trim_pool(int device);

}  // namespace deepbench::cuda
