// Distributes work of the host over threads, for libraries that permit it.
#pragma once

#include <cstddef>
#include <functional>

namespace deepbench::cuda {

// Calls one(task, worker) for each of `tasks`, on at most eight threads and at most one for each
// processor. Worker 0 is the calling thread. `one` must not throw.
void parallel_for(size_t tasks, const std::function<void(size_t task, size_t worker)>& one);

}  // namespace deepbench::cuda
