// The device's pools of memory, from which buffers come. What they give back stays in them: asking
// the driver anew takes up to a millisecond. There are two: the run time's own, and one of three
// caches that is taken whole when a process begins. Of operands about as large as the cache, where
// they lie in physical memory decides how much of them stays in it; in the second pool they lie
// where they lay in the last process.
#pragma once

#include <cstdint>

#include "nvidia/cudart.hpp"

namespace deepbench::cuda {

class Stream;

// Makes both, for the stream's device; once, before anything else is allocated on it.
void make_pools(const Stream& stream);

// From the pool of three caches what fits into it, else from the other. Only where the device has
// pools (DeviceFacts::memory_pools).
nvidia::cudaError_t allocate_from_pools(void** data, uint64_t bytes, const Stream& stream);

// Bytes that the run time's pool holds and nobody uses.
uint64_t idle_pool_bytes(int device);

// Returns of it what nobody uses to the device.
void trim_pool(int device);

}  // namespace deepbench::cuda
