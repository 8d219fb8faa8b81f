// The memory available on the host.
#pragma once

namespace deepbench {

// Bytes that the system can allocate without swapping; 0 if it does not report them.
double host_memory_available();

}  // namespace deepbench
