// Times in notes and reasons, written as the reports write them.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Four digits and a unit: 394.5 µs, 98.23 ms, 2.453 s. In the unit of `like_ns`, the time that it
// is read beside, where that leaves digits to read.
DEEPBENCH_API std::string format_time(double ns, double like_ns);

}  // namespace deepbench
