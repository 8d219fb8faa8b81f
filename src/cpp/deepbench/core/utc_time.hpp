// The time of day, for the dates in result files. No measurement uses it.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Now, in UTC: "2026-01-31T12:00:00Z".
DEEPBENCH_API std::string utc_time_text();

}  // namespace deepbench
