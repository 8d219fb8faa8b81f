// The memory pools of a device, from which buffers are allocated. Freed memory stays in the pools,
// because a new allocation from the driver takes up to a millisecond. There are two pools: the
// default pool of the runtime, and a pool of three times the cache size that is allocated as a
// whole when a process starts. Operands about as large as the cache remain in it to an extent that
// depends on their place in physical memory; in the second pool, that place is the same in every
// process.
#pragma once

#include <cstdint>

#include "nvidia/cudart.hpp"

namespace deepbench::cuda {

class Stream;

// Makes both pools for the stream's device, once, before any other allocation on it.
void make_pools(const Stream& stream);

// Allocates from the pool of three cache sizes if it has room, otherwise from the default pool.
// Requires a device with pools (DeviceFacts::memory_pools).
nvidia::cudaError_t allocate_from_pools(void** data, uint64_t bytes, const Stream& stream);

// The idle bytes of the default pool.
uint64_t idle_pool_bytes(int device);

// Returns the idle memory of the default pool to the device.
void trim_pool(int device);

}  // namespace deepbench::cuda
