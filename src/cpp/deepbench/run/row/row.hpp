// One row: the request, the outcome and the results. This file is the only writer of rows, of
// ceilings and of chains.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/row/assess.hpp"
#include "deepbench/run/row/measurement.hpp"
#include "deepbench/run/row/tried_candidate.hpp"
#include "deepbench/run/row/verify.hpp"

namespace deepbench {

// The algorithm of the row, and how it was chosen.
struct Algorithm {
  std::string mode = "default";
  std::string name;
  std::vector<TriedCandidate> tried;  // candidates that the search tried; empty without a search
  int64_t listed = 1;                 // candidates that the search set out to try
  double budget_ns = 0, searched_ns = 0;  // host time of the search, as in Selection
  std::string first;                      // what the request wants to be tried first; "": nothing
  int64_t candidates() const { return std::max<int64_t>(1, int64_t(tried.size())); }
  int64_t workspace_bytes = 0;
  double planning_ns = 0;
  // With algorithm=best or exhaustive: the figures of the library's default.
  double default_ns = 0;
  std::vector<double> default_samples_ns;
  std::string default_name;
  std::string default_candidate;  // its id; "": unknown
  std::string candidate;          // the measured candidate; "": the library's default
  double gain = 0;  // over the default, from the interleaved comparison; 0: the default was kept
};

struct DEEPBENCH_API Row {
  int64_t position = 0;
  std::string problem, op, application;
  Attributes attributes;
  std::string backend, device_name, library;
  std::string started;                // the time of day at which the row began, in UTC; "": unknown
  std::optional<int64_t> device = 0;  // empty: unknown
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
  std::string ranks_json;  // the figures of each rank of a fleet; "": the row is not a fleet's
  std::vector<std::string> notes;
  Stages stages;
  // Whether a backend answered. Otherwise only the request and how it ended are known, and every
  // result is null.
  bool has_answer = true;

  double median_ns() const;  // 0 without samples
  bool has_rates() const { return status == Status::kOk && samples; }

  // One line; docs/reference/rows.md describes it.
  std::string to_json() const;
};

// The line of a ceiling. `row` is that of the ceiling's best problem or, if the ceiling is raised,
// the row that raises it.
DEEPBENCH_API std::string ceiling_line(const CeilingKey& key, const Row& row, bool is_raised);

// The line of a chain of `calls` calls of `kernels` different kernels. Its row has no problem.
DEEPBENCH_API std::string chain_line(const Row& row, int64_t calls, int64_t kernels);

// A row with more samples keeps an evenly thinned subset and marks it as such.
constexpr size_t kMaxSamples = 1000;

// The index of the i-th of `kept` samples, an even selection of `all`.
constexpr size_t sample_index(size_t i, size_t kept, size_t all) { return i * all / kept; }

}  // namespace deepbench
