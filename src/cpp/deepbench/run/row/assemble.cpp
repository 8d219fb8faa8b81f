// Combining the results of the steps into a row.
#include "deepbench/run/row/assemble.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "deepbench/core/operation.hpp"
#include "deepbench/run/row/format_time.hpp"

namespace deepbench {
namespace {

void append(std::vector<std::string>& notes, const std::vector<std::string>& more) {
  notes.insert(notes.end(), more.begin(), more.end());
}

// Formats a speed with one decimal, such as "18.0".
std::string speed_text(double speed) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", speed);
  return text;
}

void describe_problem(const Problem& problem, Row& row) {
  row.problem = problem.str();
  row.op = problem.op();
  row.attributes = problem.attributes();
  row.application = problem.metadata().text("application");
  row.work = problem.operation().work(problem);
}

void describe_request(const RowSteps& steps, Row& row) {
  row.position = steps.position;
  row.problem = steps.line;
  row.backend = steps.backend;
  row.started = steps.started;
  if (!steps.request || !steps.requested_regime) return;
  const auto& [problem, options] = *steps.request;
  describe_problem(problem, row);
  row.device = options.device;
  row.device_name = steps.device_name;
  row.algorithm.mode = options.algorithm;
}

Algorithm describe_algorithm(const RowSteps& steps, Algorithm algorithm) {
  if (const Measurement* const first = steps.first_measurement()) {
    algorithm.name = first->algorithm;
    algorithm.candidate = first->candidate;
    algorithm.workspace_bytes = first->workspace_bytes;
    algorithm.planning_ns = first->planning_ns;
  }
  const auto& selection = steps.selection ? steps.selection : steps.rank_zero_selection;
  if (selection) {
    algorithm.candidate = selection->measurement.candidate;
    algorithm.tried = selection->tried;
    algorithm.listed = selection->listed;
    algorithm.budget_ns = selection->budget_ns;
    algorithm.searched_ns = selection->searched_ns;
    algorithm.first = steps.request->options.first;
    algorithm.default_ns = selection->default_ns;
    algorithm.default_samples_ns = selection->default_samples_ns;
    algorithm.default_name = selection->default_name;
    algorithm.default_candidate = selection->default_candidate;
    algorithm.gain = selection->gain;
  }
  return algorithm;
}

void describe_measurement(const Measurement& measurement, Row& row) {
  row.library = measurement.library;
  row.regime = measurement.regime;
  row.samples = measurement.samples;
  row.padding_rule = measurement.padding_rule;
  row.padded = measurement.padded;
  row.conversion = measurement.conversion;
  row.verification = measurement.verification;
  row.work.transform_factor = measurement.transform_factor;
  row.work.arithmetic = measurement.arithmetic;
  row.metrics = measurement.metrics;
}

std::vector<std::string> all_notes(const RowSteps& steps) {
  std::vector<std::string> notes;
  if (steps.requested_regime && steps.request->options.inputs != "uniform")
    notes.push_back("inputs are all " + steps.request->options.inputs);
  // A fleet's sensors are read during the measurement.
  if (steps.is_fleet_row) append(notes, steps.findings().sensors.notes);
  if (const Measurement* const first = steps.first_measurement()) append(notes, first->notes);
  if (steps.selection) append(notes, steps.selection->notes);
  append(notes, steps.findings().extras.notes);
  if (!steps.is_fleet_row) append(notes, steps.findings().sensors.notes);
  append(notes, steps.findings().baselines.notes);
  if (steps.fleet) append(notes, steps.fleet->notes);
  append(notes, steps.assessment_notes);
  if (steps.rank_zero_selection)
    for (const std::string& note : steps.rank_zero_selection->notes)
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(note);
  return notes;
}

std::vector<std::string> notes_on_fast_baselines(const BaselineTimes& baselines, double row_ns) {
  std::vector<std::string> notes;
  for (const BaselineTime& one : baselines.times)
    if (one.most_speed > 0 && row_ns > one.most_speed * one.median_ns)
      notes.push_back("the " + one.name + " takes " + format_time(one.median_ns, one.median_ns) +
                      ", " + speed_text(row_ns / one.median_ns) + " times as fast as this row");
  return notes;
}

// Adds the times of the baselines before the metrics of the measurement, and the ratios to the
// baselines after them. A row without a correct measurement has neither.
void add_baselines(const BaselineTimes& baselines, Row& row) {
  if (!row.samples || row.verification.state == Verification::State::kFailed) return;
  std::vector<Metric> metrics;
  for (const BaselineTime& one : baselines.times)
    metrics.push_back({one.metric, "us", "lower", one.median_ns / 1e3, one.samples_ns});
  metrics.insert(metrics.end(), row.metrics.begin(), row.metrics.end());
  for (const BaselineTime& one : baselines.times)
    metrics.push_back({one.speedup, "x", "higher", one.median_ns / row.median_ns()});
  row.metrics = std::move(metrics);
  append(row.notes, notes_on_fast_baselines(baselines, row.median_ns()));
}

// The figures of a fleet's row belong to the device of its representative.
void describe_fleet(const FleetFindings& fleet, Row& row) {
  row.ranks_json = fleet.ranks_json;
  if (!fleet.representative) return;
  row.device = fleet.representative->device;
  row.device_name = fleet.representative->device_name;
}

}  // namespace

Row assemble(const RowSteps& steps) {
  Row row;
  describe_request(steps, row);
  if (steps.requested_regime) row.regime = *steps.requested_regime;
  row.algorithm = describe_algorithm(steps, row.algorithm);
  const Measurement* const first = steps.first_measurement();
  const Measurement* const last = steps.repetition ? &steps.repetition->measurement : first;
  if (last) describe_measurement(*last, row);
  row.notes = all_notes(steps);
  add_baselines(steps.findings().baselines, row);
  const ExtraMetrics& extras =
      steps.repetition ? steps.repetition->extras : steps.findings().extras;
  row.metrics.insert(row.metrics.end(), extras.metrics.begin(), extras.metrics.end());
  row.observed = steps.findings().sensors.observed;
  for (const auto& [name, value] : steps.findings().clocks.items()) row.observed.set(name, value);
  if (steps.repetition)
    for (const auto& [name, value] : steps.repetition->clocks.items())
      row.observed.set(name, value);
  row.bound = steps.bound;
  if (steps.fleet) describe_fleet(*steps.fleet, row);
  row.status = steps.status;
  row.reason = steps.reason;
  row.stages = steps.stages;
  return row;
}

Row assemble(const FailedRow& failed) {
  Row row;
  row.has_answer = false;
  row.position = failed.position;
  describe_problem(failed.problem, row);
  row.backend = failed.backend;
  row.device = failed.device;
  row.device_name = failed.device_name;
  row.status = failed.status;
  row.reason = failed.reason;
  if (!failed.worker.empty()) row.observed.set("worker", failed.worker);
  return row;
}

}  // namespace deepbench
