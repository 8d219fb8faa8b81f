// The results of the steps of one row, each written once. A step that did not take place leaves its
// part empty, so that a row which ends early is assembled from the steps before the failure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/utc_time.hpp"
#include "deepbench/run/row/admit.hpp"
#include "deepbench/run/row/assess.hpp"
#include "deepbench/run/row/baselines.hpp"
#include "deepbench/run/row/measurement.hpp"
#include "deepbench/run/row/select.hpp"

namespace deepbench {

// The readings of the device's sensors after the measurement.
struct Sensors {
  Attributes observed;
  std::vector<std::string> notes;  // the reasons why sensors could not be read
};

// Metrics besides the time of a call: energy, and those of single calls of a collective.
struct ExtraMetrics {
  std::vector<Metric> metrics;
  std::vector<std::string> notes;
};

// The results of this process on its device; in a fleet, ranks send them to rank 0.
struct Findings {
  std::optional<Measurement> measurement;  // of the plan; before a selection, of the default
  ExtraMetrics extras;
  Sensors sensors;
  Attributes clocks;  // derived from the samples; they override the sensors
  BaselineTimes baselines;
};

// The rank of a fleet whose figures the row shows.
struct RepresentativeRank {
  Findings found;
  int64_t device = 0;
  std::string device_name;
};

// The joint results of the ranks of a fleet. run/fleet writes them.
struct FleetFindings {
  std::string ranks_json;                            // the row's member `ranks`
  std::optional<RepresentativeRank> representative;  // on rank 0; empty: no rank has a time
  std::vector<std::string> notes;
};

// A second measurement of a row that was above its ceilings. It replaces the first in the row,
// except for the algorithm and the notes, which are those of the selection.
struct Repetition {
  Measurement measurement;
  ExtraMetrics extras;
  Attributes clocks;
};

struct RowSteps {
  // The request.
  int64_t position = 0;
  std::string line;                   // the problem as it was written
  std::string backend;                // name
  std::optional<RowRequest> request;  // empty if the line cannot be read
  // Empty until the device is described; a row that ends before shows the line as it was written.
  std::optional<Regime> requested_regime;
  std::string device_name;
  std::string started = utc_time_text();  // when the row began
  bool is_fleet_row = false;
  // The results, in order of the steps.
  Findings found;
  std::optional<Selection> selection;
  std::optional<FleetFindings> fleet;
  std::optional<Repetition> repetition;
  Bound bound;
  std::vector<std::string> assessment_notes;
  // The selection that rank 0 of a fleet made alone, before all ranks measured the selected
  // candidate.
  std::optional<Selection> rank_zero_selection;
  // The outcome of the row.
  Status status = Status::kOk;
  std::string reason;
  Stages stages;

  const Findings& findings() const {
    return fleet && fleet->representative ? fleet->representative->found : found;
  }
  // The measurement of the selected candidate, before any repetition. nullptr: there is none.
  const Measurement* first_measurement() const {
    if (selection) return &selection->measurement;
    return findings().measurement ? &*findings().measurement : nullptr;
  }
};

}  // namespace deepbench
