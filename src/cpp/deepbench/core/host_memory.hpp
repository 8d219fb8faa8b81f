// How much memory the machine that this program runs on has left.
#pragma once

namespace deepbench {

// Bytes that can be taken without swapping; 0: the system does not tell.
double host_memory_available();

}  // namespace deepbench
