// Identifies this machine. Different machines may have the same name, and containers on one machine
// may have different names.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"

namespace deepbench {

// An id that the kernel draws when the machine starts; "" where there is none.
DEEPBENCH_API std::string boot_id();

// The name of this machine and its boot id.
DEEPBENCH_API std::string machine_identity();

}  // namespace deepbench
