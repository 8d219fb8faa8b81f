// Splits host work (references, fallbacks of verification) over the processors that this process
// may use. Never runs while something is timed.
#pragma once

#include <cstdint>
#include <functional>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Threads that parallel_for uses: the processors of the process' affinity mask as it was when this
// library was loaded, or as parallel_update_affinity() found it, at most 16. OpenMP's binding
// narrows the calling thread's mask later; that must not put all our threads on one core.
DEEPBENCH_API int parallel_threads();

// The processors of the calling thread's mask from now on: the process has been given a part of
// what it had.
DEEPBENCH_API void parallel_update_affinity();

// Calls body(task) for every task of [0, count), each on whichever thread is free next: the calling
// one or one of up to max_threads - 1 more. An exception of any task ends the others and is
// rethrown here.
DEEPBENCH_API void parallel_tasks(int64_t count, int64_t max_threads,
                                  const std::function<void(int64_t)>& body);

// Calls body(begin, end, part) for parallel_threads() contiguous parts of [0, count); exceptions of
// any part are rethrown here. Small counts run on the calling thread.
DEEPBENCH_API void parallel_for(int64_t count, int64_t min_part,
                                const std::function<void(int64_t, int64_t, int)>& body);

}  // namespace deepbench
