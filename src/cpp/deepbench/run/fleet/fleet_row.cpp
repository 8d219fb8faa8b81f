// This rank's part of a fleet's row, and the combination of all ranks' results.
#include "deepbench/run/fleet/fleet_row.hpp"

#include <algorithm>
#include <utility>

#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/fleet/fleet_json.hpp"
#include "deepbench/run/row/current_failure.hpp"
#include "deepbench/run/row/make_row.hpp"

namespace deepbench {
namespace {

constexpr size_t kNamedRanks = 8;  // ranks that a note names

// Runs this rank's part and returns how it ended. Rethrows failures of the whole fleet.
template <class Body>
RankResult run_on_rank(const Group& group, Body body) {
  RankResult result;
  try {
    body();
  } catch (const RankDisconnected&) {
    throw;
  } catch (const RowFailure& failure) {
    if (group.failing()) throw;
    result.status = failure.status();
    result.reason = failure.what();
  } catch (...) {
    const RowFailure failure = current_failure();
    result.status = failure.status();
    result.reason = failure.what();
  }
  return result;
}

void measure_on_this_rank(const RowContext& context, FleetCoordinator& fleet, TrialSlot& slot,
                          RowSteps& steps) {
  Plan plan = admit_or_throw(*steps.request, context);
  if (context.on_admitted) context.on_admitted();
  const std::string& candidate = fleet.agree_on_candidate();
  if (!plan.options.once) plan.candidate = candidate;
  measure_first(context, plan, slot, steps);
  if (plan.options.once) return;
  steps.found.clocks = observed_clocks(*steps.found.measurement->samples);
  if (context.measures_energy) steps.found.extras = measure_energy(context, plan, *slot.trial);
  measure_baselines(context, plan, slot, steps);
}

RankResult rank_result(const Findings& found, RankResult result) {
  if (!found.measurement || !found.measurement->samples) return result;
  const Measurement& measurement = *found.measurement;
  const Samples& samples = *measurement.samples;
  if (samples.per_call_ns.empty()) return result;
  const Statistics statistics = summarize(samples.per_call_ns);
  const Attributes& observed = found.sensors.observed;
  result.median_ns = statistics.median;
  result.low_ns = statistics.low;
  result.high_ns = statistics.high;
  result.error = samples.error;
  result.clock_mhz = samples.clock_mhz > 0 ? samples.clock_mhz : observed.real("clock_mhz");
  result.temperature_c = observed.real("temperature_c");
  result.power_w = observed.real("power_w");
  result.throttled = samples.throttled;
  result.algorithm = measurement.library + " " + measurement.algorithm;
  return result;
}

// Notes that ranks used different algorithms, whose times do not compare devices.
std::vector<std::string> notes_on_algorithms(const FleetSummary& fleet) {
  const size_t count = fleet.other_algorithm_ranks.size();
  if (count == 0 || fleet.rank_devices.empty() || fleet.representative < 0) return {};
  const std::string& usual = fleet.ranks[size_t(fleet.representative)].algorithm;
  std::string others;
  for (size_t i = 0; i < std::min(count, kNamedRanks); ++i)
    others += (i > 0 ? ", " : "") + std::to_string(fleet.other_algorithm_ranks[i]) + " (" +
              fleet.ranks[size_t(fleet.other_algorithm_ranks[i])].algorithm + ")";
  if (count > kNamedRanks) others += " and " + std::to_string(count - kNamedRanks) + " more";
  return {"not all ranks did the same: rank " + std::to_string(fleet.representative) + " " + usual +
          "; ranks " + others};
}

FleetFindings row_findings(const MergedFleet& merged) {
  const FleetSummary& summary = merged.summary;
  FleetFindings fleet = {fleet_json(summary), std::nullopt, notes_on_algorithms(summary)};
  if (merged.representative) {
    const RankDevice& device = summary.rank_devices.at(size_t(summary.representative));
    fleet.representative = {*merged.representative, device.device, device.name};
  }
  return fleet;
}

}  // namespace

void make_fleet_row(const RowContext& alone, FleetCoordinator& fleet, TrialSlot& slot,
                    RowSteps& steps) {
  RowContext context = alone;
  context.hooks = &fleet;
  context.ranks_sharing_memory = fleet.group().self().local_size;
  const RunOptions& options = steps.request->options;
  fleet.when_measured = [&] { steps.found.sensors = read_sensors(context, int(options.device)); };
  RankResult result =
      run_on_rank(fleet.group(), [&] { measure_on_this_rank(context, fleet, slot, steps); });
  const MergedFleet merged = fleet.merge(rank_result(steps.found, std::move(result)), steps.found);
  steps.fleet = row_findings(merged);
  if (merged.summary.status != Status::kOk)
    throw RowFailure(merged.summary.status, merged.summary.reason);
  // Rank 0 measures ceilings while the other ranks are idle. The row itself is not repeated: many
  // ranks have measured it.
  if (fleet.group().rank() == 0 && !options.once)
    assess_row(context, *steps.request, nullptr, slot, steps);
}

}  // namespace deepbench
