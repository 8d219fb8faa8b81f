// Splits host work (references, the core's fallbacks of verification) over the processors available
// to this process. It never runs while a batch is timed.
#pragma once

#include <cstdint>
#include <functional>

#include "deepbench/core/export.hpp"

namespace deepbench {

inline constexpr int kMaxParallelThreads = 16;

// The number of threads of parallel_for: the processors in the process's affinity mask, at most
// kMaxParallelThreads. The mask is read when this library is loaded, and again by
// parallel_update_affinity(). OpenMP's binding narrows the calling thread's mask later; the saved
// mask keeps all these threads from running on one core.
DEEPBENCH_API int parallel_threads();

// Saves the calling thread's mask. Must be called after the process was bound to a part of the
// machine.
DEEPBENCH_API void parallel_update_affinity();

// Calls body(task) for every task of [0, count) on the calling thread and up to max_threads - 1
// others; each thread takes the next task when it is free. The first exception stops the remaining
// tasks and is rethrown here.
DEEPBENCH_API void parallel_tasks(int64_t count, int64_t max_threads,
                                  const std::function<void(int64_t)>& body);

// Calls body(begin, end, part) for up to parallel_threads() contiguous parts of [0, count), each of
// at least `min_part` where possible. An exception of any part is rethrown here. Small counts run
// on the calling thread.
DEEPBENCH_API void parallel_for(int64_t count, int64_t min_part,
                                const std::function<void(int64_t, int64_t, int)>& body);

}  // namespace deepbench
