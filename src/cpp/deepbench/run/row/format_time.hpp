// Formats times in notes and reasons like the reports.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Four digits and a unit: 394.5 µs, 98.23 ms, 2.453 s. Uses the unit of `like_ns`, a time in
// the same sentence, unless that hides the digits.
DEEPBENCH_API std::string format_time(double ns, double like_ns);

}  // namespace deepbench
