// The time of day, for what a result file says of when it was measured. Nothing is timed by it.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"

namespace deepbench {

// Now, in UTC: "2026-01-31T12:00:00Z".
DEEPBENCH_API std::string utc_time_text();

}  // namespace deepbench
