// What ranks send to rank 0 arrives as it was sent.
#include "deepbench/run/fleet/fleet_message.hpp"

#include <doctest/doctest.h>

#include <string>

#include "deepbench/core/status.hpp"

namespace deepbench {
namespace {

Measurement some_measurement() {
  Measurement measurement;
  measurement.candidate = "eng3";
  measurement.library = "cudnn 9.1";
  measurement.algorithm = "nhwc: eng3 (winograd)";
  measurement.workspace_bytes = 4096;
  measurement.planning_ns = 1.5e6;
  measurement.transform_factor = 4;
  measurement.arithmetic = "float";
  measurement.regime.cache = "cold";
  measurement.regime.copies = 7;
  measurement.regime.resident = true;
  measurement.verification = {
      Verification::State::kPassed, "all 4 outputs", "", 4, 4, 0.25, "after timing"};
  measurement.padding_rule = "multiples of 8";
  measurement.padded.set("c", int64_t{8});
  measurement.conversion = Conversion{"w", 900, true};
  measurement.metrics = {{"call", "ns", "lower", 12.5}};
  measurement.notes = {"a note"};
  Samples samples;
  samples.per_call_ns = {10, 11, 12};
  samples.stop = StopReason::kConverged;
  samples.waited_share = 0.25;
  SoakPart part;
  part.calls = 60, part.batches = 6, part.throttled = 1, part.power_capped = 2, part.clocked = 5;
  part.elapsed_ns = 720, part.clock_mhz = 1410;
  samples.soak.set_parts({part});
  measurement.samples = samples;
  return measurement;
}

TEST_CASE("the findings of a rank arrive with every field of the measurement") {
  Findings sent;
  sent.measurement = some_measurement();
  sent.extras.metrics = {{"energy", "J", "lower", 3}};
  sent.sensors.notes = {"no sensor"};
  sent.clocks.set("clock_mhz", 1980.0);
  const Findings found = unpack_findings(pack_findings(sent));
  REQUIRE(found.measurement);
  const Measurement& measurement = *found.measurement;
  CHECK(measurement.candidate == "eng3");
  CHECK(measurement.library == "cudnn 9.1");
  CHECK(measurement.algorithm == "nhwc: eng3 (winograd)");
  CHECK(measurement.workspace_bytes == 4096);
  CHECK(measurement.planning_ns == 1.5e6);
  CHECK(measurement.transform_factor == 4);
  CHECK(measurement.arithmetic == "float");
  CHECK(measurement.regime.cache == "cold");
  CHECK(measurement.regime.copies == 7);
  CHECK(measurement.regime.resident == true);
  CHECK(measurement.verification.state == Verification::State::kPassed);
  CHECK(measurement.verification.what == "all 4 outputs");
  CHECK(measurement.verification.worst == 0.25);
  CHECK(measurement.padding_rule == "multiples of 8");
  CHECK(measurement.padded.integer("c") == 8);
  REQUIRE(measurement.conversion);
  CHECK(measurement.conversion->operand == "w");
  CHECK(measurement.conversion->ns == 900);
  CHECK(measurement.conversion->constant);
  REQUIRE(measurement.metrics.size() == 1);
  CHECK(measurement.metrics[0].value == 12.5);
  CHECK(measurement.notes == std::vector<std::string>{"a note"});
  REQUIRE(measurement.samples);
  CHECK(measurement.samples->per_call_ns == std::vector<double>{10, 11, 12});
  CHECK(measurement.samples->stop == StopReason::kConverged);
  CHECK(measurement.samples->waited_share == 0.25);
  REQUIRE(measurement.samples->soak.parts().size() == 1);
  const SoakPart& part = measurement.samples->soak.parts()[0];
  CHECK(part.calls == 60);
  CHECK(part.batches == 6);
  CHECK(part.throttled == 1);
  CHECK(part.power_capped == 2);
  CHECK(part.clocked == 5);
  CHECK(part.elapsed_ns == 720);
  CHECK(part.clock_mhz == 1410);
  REQUIRE(found.extras.metrics.size() == 1);
  CHECK(found.extras.metrics[0].unit == "J");
  CHECK(found.sensors.notes == std::vector<std::string>{"no sensor"});
  CHECK(found.clocks.real("clock_mhz") == 1980);
}

TEST_CASE("findings without a measurement arrive without one") {
  CHECK_FALSE(unpack_findings(pack_findings({})).measurement);
}

}  // namespace
}  // namespace deepbench
