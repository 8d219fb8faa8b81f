// Step 2's result: what one trial measured of one candidate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/verify.hpp"

namespace deepbench {

// The conditions under which a kernel is timed.
struct Regime {
  std::string cache = "hot";
  std::string cold;  // "rotation" or "flush"
  int64_t copies = 1;
  std::optional<bool> resident;  // whether the working set fits the last-level cache
  std::string power = "rested";
  int64_t threads = 0;
  int64_t ranks = 0;  // number of ranks; 0: the operation is no collective
};

// The conversion of an operand into another layout or format, made before the call and excluded
// from its time.
struct Conversion {
  std::string operand;
  double ns = 0;
  bool constant = false;  // the application converts the operand once, so its time need not count
  // Samples, whose median is `ns`; empty: the backend states none.
  std::vector<double> samples_ns{};
};

// Host time of each stage of a row, accumulated by all of its trials.
struct Stages {
  double prepare_ns = 0, verify_ns = 0, measure_ns = 0, ceilings_ns = 0, other_ns = 0;
  // Parts of measuring and verifying: the spans of the batches, and the rests before them.
  double device_ns = 0, rest_ns = 0;
  double compiling_ns = 0;  // part of preparing: compilation whose result the disk cache keeps
};

struct Measurement {
  std::string candidate;  // "": the library's default
  std::string library, algorithm;
  int64_t workspace_bytes = 0;
  double planning_ns = 0;
  Regime regime;
  std::optional<Samples> samples;
  Verification verification;
  std::string padding_rule;
  Attributes padded;  // dimensions after padding
  std::optional<Conversion> conversion;
  double transform_factor = 1;  // transform_factor of the algorithm, as in Work
  std::string arithmetic;       // arithmetic of the algorithm, as in Work
  std::vector<Metric> metrics;
  std::vector<std::string> notes;  // notes of the kernel

  double median_ns() const;  // 0 without samples
};

// The regime that the options ask for.
Regime requested_regime(const RowRequest& request, const Attributes& device);

// Throws RowFailure if a padded dimension is smaller than the problem's.
void require_possible_padding(const Plan& plan, const Attributes& facts);
// Throws RowFailure if by the kernel's own facts the caches are hot in a cold row, or cold in a hot
// row.
void require_requested_caches(const Plan& plan, const Attributes& facts, double last_level_bytes);

// `facts` are those of describe_kernel. A measurement whose verification failed has no metrics.
Measurement describe_measurement(const Plan& plan, const Regime& requested, const Attributes& facts,
                                 const std::optional<Samples>& samples,
                                 const Verification& verification);

}  // namespace deepbench
