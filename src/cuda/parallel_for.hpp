// Work for the host that several threads share, where a library lets them.
#pragma once

#include <cstddef>
#include <functional>

namespace deepbench::cuda {

// Calls one(task, worker) for each of `tasks`, on up to eight threads, no more than the machine has
// processors. Workers count from 0, which is the caller. `one` must not throw.
void parallel_for(size_t tasks, const std::function<void(size_t task, size_t worker)>& one);

}  // namespace deepbench::cuda
