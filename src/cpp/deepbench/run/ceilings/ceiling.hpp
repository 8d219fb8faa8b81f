// The identity and the figure of one measured limit of a device.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "deepbench/core/export.hpp"

namespace deepbench {

// The conditions under which a ceiling is measured. `threads` is the number that the options name,
// and `cores` the number of hardware threads that the process may use; 0: unknown or left to the
// backend.
struct CeilingConditions {
  int64_t device = 0, threads = 0, cores = 0;
  std::string cache = "hot", power = "rested";
};

// What a ceiling limits. The text is its identity in result files and in the row protocol, for
// example "bandwidth level=l2 device=0 threads=0 cores=8 cache=hot power=rested".
struct DEEPBENCH_API CeilingKey {
  std::string kind;       // "arithmetic", "bandwidth", "latency" or "serial"
  std::string precision;  // for arithmetic and latency
  std::string level;      // level of the memory hierarchy, for a bandwidth
  int64_t bytes = 0;      // bytes that a step passes to the next one, for `serial`
  int64_t weights = 0;    // bytes that each step reads besides, for `serial`
  CeilingConditions conditions;

  std::string text() const;
};

// A ceiling that another process measured, in FLOP/s, bytes per second or nanoseconds.
struct GivenCeiling {
  std::optional<double> figure;  // the measured figure; 0: it cannot be measured
  double raised = 0;             // the highest figure of a row above it; 0: no row exceeded it
};

using GivenCeilings = std::map<std::string, GivenCeiling>;  // the key is the text of a CeilingKey

// Whether a line of the row protocol gives a ceiling rather than a problem.
DEEPBENCH_API bool is_ceiling_line(std::string_view line);
// Reads "ceiling KEY ; figure=NUMBER raised=NUMBER", of which one may be absent, into `ceilings`.
// Throws InvalidProblem.
DEEPBENCH_API void parse_given_ceiling(std::string_view line, GivenCeilings& ceilings);

}  // namespace deepbench
