// Which machine this is. Machines may have the same name, and containers of one machine different
// ones.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"

namespace deepbench {

// An id that the kernel draws when the machine starts; "" where there is none.
DEEPBENCH_API std::string boot_id();

// The name of this machine and its boot id.
DEEPBENCH_API std::string machine_identity();

}  // namespace deepbench
