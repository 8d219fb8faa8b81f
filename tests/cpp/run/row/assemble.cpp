// The row that follows from the results of the steps, however many took place.
#include "deepbench/run/row/assemble.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

namespace deepbench {
namespace {

using Notes = std::vector<std::string>;

Measurement measurement_of(const std::string& algorithm, double ns, const Notes& notes = {}) {
  Measurement measurement;
  measurement.library = "library of " + algorithm;
  measurement.algorithm = algorithm;
  measurement.candidate = "id of " + algorithm;
  measurement.workspace_bytes = int64_t(ns);
  measurement.planning_ns = 10 * ns;
  measurement.regime.copies = int64_t(ns);
  measurement.padding_rule = "rule of " + algorithm;
  measurement.samples.emplace();
  measurement.samples->per_call_ns = {ns};
  measurement.metrics = {{"metric of " + algorithm, "ns", "lower", ns}};
  measurement.notes = notes;
  return measurement;
}

Attributes one_attribute(const std::string& name, double value) {
  Attributes attributes;
  attributes.set(name, value);
  return attributes;
}

// A row as it is after its device was described.
RowSteps steps_of_begun_row() {
  RowSteps steps;
  steps.position = 7;
  steps.line = "gemm m=2 n=3 k=4";
  steps.backend = "fake";
  steps.device_name = "Fake device";
  RunOptions options;
  options.device = 2;
  options.algorithm = "best";
  steps.request = RowRequest{Problem::parse("gemm m=2 n=3 k=4 application=\"a b\""), options};
  steps.requested_regime.emplace();
  steps.requested_regime->cache = "cold";
  return steps;
}

RowSteps steps_of_measured_row(const Notes& notes = {}) {
  RowSteps steps = steps_of_begun_row();
  steps.found.measurement = measurement_of("default", 100, notes);
  return steps;
}

Selection selection_of(const Measurement& winner, const Notes& notes = {}) {
  Selection selection;
  selection.measurement = winner;
  selection.gain = 1.25;
  selection.tried.resize(9);
  selection.default_ns = 100;
  selection.default_name = "default";
  selection.default_candidate = "id of default";
  selection.notes = notes;
  return selection;
}

std::vector<std::string> names_of(const std::vector<Metric>& metrics) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics) names.push_back(metric.name);
  return names;
}

TEST_CASE("a line that cannot be read is shown as it was written") {
  RowSteps steps;
  steps.position = 3;
  steps.line = "gemm m=";
  steps.backend = "fake";
  steps.status = Status::kInvalid;
  steps.reason = "m has no value";
  const Row row = assemble(steps);
  CHECK(row.position == 3);
  CHECK(row.problem == "gemm m=");
  CHECK(row.op.empty());
  CHECK(row.backend == "fake");
  CHECK(row.status == Status::kInvalid);
  CHECK(row.reason == "m has no value");
  CHECK_FALSE(row.samples);
}

TEST_CASE("a row whose device is not described keeps the line, though it was read") {
  RowSteps steps = steps_of_begun_row();
  steps.requested_regime.reset();
  const Row row = assemble(steps);
  CHECK(row.problem == "gemm m=2 n=3 k=4");
  CHECK(row.op.empty());
}

TEST_CASE("a row that is refused has its request, its work and the regime that was asked for") {
  RowSteps steps = steps_of_begun_row();
  steps.status = Status::kUnsupported;
  const Row row = assemble(steps);
  CHECK(row.problem == "gemm m=2 n=3 k=4 trans_a=n trans_b=n precision=float");
  CHECK(row.op == "gemm");
  CHECK(row.application == "a b");
  CHECK(row.attributes.integer("k") == 4);
  CHECK(row.device == 2);
  CHECK(row.device_name == "Fake device");
  CHECK(row.algorithm.mode == "best");
  CHECK(row.algorithm.name.empty());
  CHECK(row.work.flops == 48);
  CHECK(row.regime.cache == "cold");
  CHECK(row.library.empty());
  CHECK_FALSE(row.has_rates());
}

TEST_CASE("the figures of a row are those of the last measurement of what was selected") {
  struct Case {
    std::string about;
    std::function<void(RowSteps&)> change;
    std::string library, name, candidate;
    double median_ns;
    int64_t workspace_bytes, candidates;
    std::vector<std::string> metrics;
  };
  const auto select = [](RowSteps& steps) {
    steps.selection = selection_of(measurement_of("winner", 80));
  };
  const auto repeat = [](RowSteps& steps) {
    Measurement again = measurement_of("again", 82);
    steps.repetition = Repetition{again, {{{"energy again", "J", "lower", 2}}, {}}, {}};
  };
  const std::vector<Case> cases = {
      {"the default",
       [](RowSteps&) {},
       "library of default",
       "default",
       "id of default",
       100,
       100,
       1,
       {"metric of default", "energy"}},
      {"a selected candidate",
       select,
       "library of winner",
       "winner",
       "id of winner",
       80,
       80,
       9,
       {"metric of winner", "energy"}},
      {"the default, measured again",
       repeat,
       "library of again",
       "default",
       "id of default",
       82,
       100,
       1,
       {"metric of again", "energy again"}},
      {"a selected candidate, measured again",
       [&](RowSteps& steps) {
         select(steps);
         repeat(steps);
       },
       "library of again",
       "winner",
       "id of winner",
       82,
       80,
       9,
       {"metric of again", "energy again"}},
  };
  for (const Case& one : cases) {
    CAPTURE(one.about);
    RowSteps steps = steps_of_measured_row();
    steps.found.extras.metrics = {{"energy", "J", "lower", 1}};
    one.change(steps);
    const Row row = assemble(steps);
    CHECK(row.library == one.library);
    CHECK(row.algorithm.name == one.name);
    CHECK(row.algorithm.candidate == one.candidate);
    CHECK(row.algorithm.workspace_bytes == one.workspace_bytes);
    CHECK(row.algorithm.candidates() == one.candidates);
    CHECK(row.median_ns() == one.median_ns);
    CHECK(row.regime.copies == int64_t(one.median_ns));
    CHECK(names_of(row.metrics) == one.metrics);
    const bool selected = one.candidates > 1;
    CHECK(row.algorithm.gain == (selected ? 1.25 : 0));
    CHECK(row.algorithm.default_ns == (selected ? 100 : 0));
    CHECK(row.algorithm.default_name == (selected ? "default" : ""));
    CHECK(row.algorithm.default_candidate == (selected ? "id of default" : ""));
  }
}

TEST_CASE("clocks override sensors, and those of a repetition the first ones") {
  RowSteps steps = steps_of_measured_row();
  steps.found.sensors.observed = one_attribute("sm_clock_mhz", 1000);
  steps.found.sensors.observed.set("power_w", 300.0);
  CHECK(assemble(steps).observed.real("sm_clock_mhz") == 1000);
  steps.found.clocks = one_attribute("sm_clock_mhz", 1100);
  CHECK(assemble(steps).observed.real("sm_clock_mhz") == 1100);
  steps.repetition =
      Repetition{measurement_of("again", 1), {}, one_attribute("sm_clock_mhz", 1200)};
  CHECK(assemble(steps).observed.real("sm_clock_mhz") == 1200);
  CHECK(assemble(steps).observed.real("power_w") == 300);
}

TEST_CASE("notes are in the order of the steps") {
  RowSteps steps = steps_of_measured_row({"kernel"});
  steps.request->options.inputs = "zeros";
  steps.found.extras.notes = {"energy"};
  steps.found.sensors.notes = {"sensors"};
  steps.assessment_notes = {"assessment"};
  CHECK(assemble(steps).notes ==
        Notes{"inputs are all zeros", "kernel", "energy", "sensors", "assessment"});
  steps.selection =
      selection_of(measurement_of("winner", 80, {"kernel of the winner"}), {"choice"});
  CHECK(assemble(steps).notes == Notes{"inputs are all zeros", "kernel of the winner", "choice",
                                       "energy", "sensors", "assessment"});
}

TEST_CASE("a baseline that is far faster than it may be is told in a note") {
  const auto notes = [](double baseline_ns) {
    RowSteps steps = steps_of_measured_row();  // of 100 ns
    steps.found.baselines.times = {
        {"float_time", "speedup_over_float", baseline_ns, {}, "float baseline", 1.5},
        {"dense_time", "speedup", 1}};
    return assemble(steps).notes;
  };
  CHECK(notes(50) == Notes{"the float baseline takes 50.00 ns, 2.0 times as fast as this row"});
  CHECK(notes(70).empty());
}

TEST_CASE("the figures of a fleet's row are those of its representative") {
  RowSteps steps = steps_of_measured_row({"rank 0"});
  steps.is_fleet_row = true;
  steps.found.sensors.notes = {"sensors of rank 0"};
  Findings middle;
  middle.measurement = measurement_of("middle", 70, {"rank 1"});
  middle.sensors.notes = {"sensors of rank 1"};
  steps.fleet = {
      "{\"count\": 2}", RepresentativeRank{middle, 5, "Another device"}, {"the ranks differ"}};
  const Row row = assemble(steps);
  CHECK(row.device == 5);
  CHECK(row.device_name == "Another device");
  CHECK(row.median_ns() == 70);
  CHECK(row.algorithm.name == "middle");
  CHECK(row.ranks_json == "{\"count\": 2}");
  CHECK(row.notes == Notes{"sensors of rank 1", "rank 1", "the ranks differ"});

  steps.fleet->representative.reset();  // no rank has a time
  CHECK(assemble(steps).device == 2);
}

TEST_CASE("what rank 0 of a fleet selected alone is on the row, its notes once") {
  RowSteps steps = steps_of_measured_row({"shared"});
  steps.is_fleet_row = true;
  steps.rank_zero_selection = selection_of(measurement_of("winner", 80), {"shared", "choice"});
  const Row row = assemble(steps);
  CHECK(row.algorithm.candidates() == 9);
  CHECK(row.algorithm.gain == 1.25);
  CHECK(row.algorithm.candidate == "id of winner");
  CHECK(row.median_ns() == 100);
  CHECK(row.notes == Notes{"shared", "choice"});
}

TEST_CASE("bound, status, reason and stages are taken over") {
  RowSteps steps = steps_of_measured_row();
  steps.bound.by = "memory";
  steps.status = Status::kMistrusted;
  steps.reason = "the two differ";
  steps.stages.measure_ns = 5;
  const Row row = assemble(steps);
  CHECK(row.bound.by == "memory");
  CHECK(row.status == Status::kMistrusted);
  CHECK(row.reason == "the two differ");
  CHECK(row.stages.measure_ns == 5);
  CHECK(row.samples);
  CHECK_FALSE(row.has_rates());
}

}  // namespace
}  // namespace deepbench
