// Step 4 of a row: compares a measurement with the ceilings. Pure functions.
#pragma once

#include <string>

#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/run/ceilings/ceilings.hpp"
#include "deepbench/run/row/measurement.hpp"

namespace deepbench {

// The limit that bounds the row, and the row's share of it. Zero: unknown.
struct Bound {
  std::string by;     // "arithmetic", "memory", "cache", "serial", "latency"
  std::string level;  // of the memory hierarchy that the working set fits: "l2", "llc", "memory"
  double flops_per_s = 0, bytes_per_s = 0, latency_ns = 0, step_ns = 0;
  double share_arithmetic = 0, share_roofline = 0;
  std::string missing;  // the ceiling without which there is no roofline
  // The texts of the ceilings' keys. Empty: the row has no such ceiling.
  std::string arithmetic_key, bandwidth_key, latency_key, serial_key;
};

struct Assessment {
  Bound bound;
  // Whether the row is more than 5 % above a ceiling: either the ceiling or the row is wrong.
  bool exceeds_roofline = false;
  bool exceeds_arithmetic = false, exceeds_bandwidth = false;
  // Whether the row is no faster than its level allows, provided that as many of its bytes as
  // possible remained in the next smaller level.
  bool inner_level_explains = false;
  // Whether the row raises its ceilings if it is steadily above them, and the reason if it does
  // not.
  bool raises_arithmetic = false, raises_bandwidth = false;
  std::string raises_none_because;
};

// `median_ns` is above 0. deepbench._core binds this function, so that a row is assessed by the
// same rules wherever it is shown.
DEEPBENCH_API Assessment assess(const Work& work, double median_ns, const RowCeilings& ceilings);

// The conclusion about a measurement above its ceilings, once ceilings and row were measured again.
enum class Doubt {
  kNone,           // the second measurement is below the ceilings
  kTooFewSamples,  // both medians are narrow, and only the number of samples is too low
  kNoise,          // the medians are too imprecise to decide
  kLowCeiling,     // two precise medians agree: the ceiling was too low
  kMistrusted,     // two precise medians differ: neither counts
};

struct Verdict {
  Doubt doubt = Doubt::kNone;
  std::string text;  // a note, or the reason of a mistrusted row; may be empty
};

// `second` is the repetition of `first`, and `assessment` compares it with the ceilings as they
// were measured again. nullptr: the row was not repeated, and `first` is assessed again.
DEEPBENCH_API Verdict judge(const Measurement& first, const Measurement* second,
                            const Assessment& assessment);

}  // namespace deepbench
