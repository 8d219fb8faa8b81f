// One row: what was asked, how it ended, what was measured. to_json is the only writer of rows.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/fleet/fleet_summary.hpp"
#include "deepbench/run/row/verify.hpp"

namespace deepbench {

struct Algorithm {
  std::string mode = "default";
  std::string name;
  int64_t candidates = 1;  // tried
  int64_t workspace_bytes = 0;
  double planning_ns = 0;
  // With best: what the library's default took.
  double default_ns = 0;
  std::string default_name;
  std::string default_candidate;  // its id; "": not asked for
  std::string candidate;          // the id whose figures the row has; "": the library's default
  double gain = 0;  // over the default, both measured in turns; 0: the default was kept
};

struct Regime {
  std::string cache = "hot";
  std::string cold;  // "rotation" or "flush"
  int64_t copies = 1;
  std::optional<bool> resident;
  std::string power = "burst";
  int64_t threads = 0;
  int64_t ranks = 0;  // of a collective; 0: no such thing
};

// A conversion, made before the call and outside its time, of an operand that is stored otherwise
// than the problem says.
struct Conversion {
  std::string operand;
  double ns = 0;
  bool constant = false;  // in its application, so that the conversion need not be counted
};

// What bounds the row, and how near it came. Zero: not known.
struct Bound {
  std::string by;     // "arithmetic", "memory", "cache", "latency"
  std::string level;  // of the memory hierarchy that the working set fits: "l2", "llc", "memory"
  double flops_per_s = 0, bytes_per_s = 0, latency_ns = 0;
  double share_arithmetic = 0, share_roofline = 0;
  std::string missing;  // the ceiling without which there is no roofline
};

struct Stages {
  double prepare_ns = 0, verify_ns = 0, measure_ns = 0, ceilings_ns = 0, other_ns = 0;
  // Of measuring and verifying: the spans of the batches, and the rests before them.
  double device_ns = 0, rest_ns = 0;
  double compiling_ns = 0;  // of preparing: what this machine keeps (plugin.h)
};

struct DEEPBENCH_API Row {
  int64_t position = 0;
  std::string problem, op, application;
  Attributes attributes;
  std::string backend, device_name, library;
  int64_t device = 0;
  Algorithm algorithm;
  Status status = Status::kOk;
  std::string reason;
  Regime regime;
  std::optional<Samples> samples;
  Work work;
  Bound bound;
  std::vector<Metric> metrics;
  std::string padding_rule;
  Attributes padded;
  std::optional<Conversion> conversion;
  Verification verification;
  Attributes observed;
  std::optional<FleetSummary> fleet;  // where ranks made it each on its own device
  std::vector<std::string> notes;
  Stages stages;

  double median_ns() const;  // 0 without samples
  bool has_rates() const { return status == Status::kOk && samples; }

  // One line, as docs/results.md says.
  std::string to_json() const;
};

}  // namespace deepbench
