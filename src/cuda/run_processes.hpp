// Determines which processes belong to the same run of deepbench as this one.
#pragma once

#include <sys/types.h>

namespace deepbench::cuda {

// Whether the process is another worker of the command that started this worker, or was started by
// such a worker, as a rank is. A worker leads its own session, so that the command is the parent of
// the session's leader. False if this process is no worker.
bool belongs_to_this_run(pid_t process);

}  // namespace deepbench::cuda
