// A row of a fleet: this rank's own part of it, and what all of them come to.
#include <algorithm>
#include <new>
#include <utility>

#include "deepbench/core/operation.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/row/row_builder.hpp"

namespace deepbench {
namespace {

constexpr size_t kNamedRanks = 8;  // in a note

// Does `body` and returns how it ended. What is not this rank's own failure goes on.
template <class Body>
RankResult run_on_rank(const Group& group, Body body) {
  RankResult figures;
  const auto with = [&](Status status, const char* reason) {
    figures.status = status;
    figures.reason = reason;
  };
  try {
    body();
  } catch (const RankDisconnected&) {
    throw;
  } catch (const RowFailure& failure) {
    if (group.failing()) throw;
    with(failure.status(), failure.what());
  } catch (const InvalidProblem& error) {
    with(Status::kInvalid, error.what());
  } catch (const std::bad_alloc&) {
    with(Status::kOutOfMemory, "out of host memory");
  } catch (const std::exception& error) {
    with(Status::kFailed, error.what());
  }
  return figures;
}

}  // namespace

// Nothing of what one rank does decides what another does, but for the candidate: each verifies its
// own results, warms up, sizes its batches and ends as its own clock says.
void RowBuilder::build_in_fleet() {
  FleetCoordinator& fleet = *options_.fleet;
  fleet.when_measured = [this] { read_sensors(); };
  merge_ranks(run_on_rank(fleet.group(), [this] { build_on_this_rank(); }));
  if (row_.fleet->status != Status::kOk) throw RowFailure(row_.fleet->status, row_.fleet->reason);
  // Alone: a ceiling is what the device can do at most, and the others sleep meanwhile.
  const bool first = fleet.group().rank() == 0;
  if (first && options_.ceilings && !options_.once) apply_roofline();
}

void RowBuilder::build_on_this_rank() {
  require_support();
  require_memory();
  const std::string& candidate = options_.fleet->agree_on_candidate();
  if (options_.once) return run_once();
  measure(candidate);
  record_clocks();
  if (options_.energy) measure_energy();
}

RankResult RowBuilder::rank_result() const {
  RankResult figures;
  if (!row_.samples || row_.samples->per_call_ns.empty()) return figures;
  const Statistics found = summarize(row_.samples->per_call_ns);
  figures.median_ns = found.median;
  figures.low_ns = found.low;
  figures.high_ns = found.high;
  figures.error = row_.samples->error;
  const double clock_mhz = row_.samples->clock_mhz;
  figures.clock_mhz = clock_mhz > 0 ? clock_mhz : row_.observed.real("clock_mhz");
  figures.temperature_c = row_.observed.real("temperature_c");
  figures.power_w = row_.observed.real("power_w");
  figures.throttled = row_.samples->throttled;
  figures.algorithm = row_.library + " " + row_.algorithm.name;
  return figures;
}

// The row's own figures become those of the rank in the middle, all of them of the same device.
void RowBuilder::merge_ranks(RankResult mine) {
  RankResult figures = rank_result();
  figures.status = mine.status;
  figures.reason = std::move(mine.reason);
  row_.fleet = options_.fleet->merge(figures, row_);
  const FleetSummary& fleet = *row_.fleet;
  if (fleet.rank_devices.empty() || fleet.middle_rank < 0)
    return;  // not on rank 0, or there is none
  row_.device = fleet.rank_devices[size_t(fleet.middle_rank)].device;
  row_.device_name = fleet.rank_devices[size_t(fleet.middle_rank)].name;
  note_differing_algorithms();
}

// Times of different algorithms say nothing of devices.
void RowBuilder::note_differing_algorithms() {
  const FleetSummary& fleet = *row_.fleet;
  const std::string& usual = fleet.ranks[size_t(fleet.middle_rank)].algorithm;
  const size_t count = fleet.other_algorithm_ranks.size();
  if (count == 0) return;
  std::string others;
  for (size_t i = 0; i < std::min(count, kNamedRanks); ++i)
    others += (i > 0 ? ", " : "") + std::to_string(fleet.other_algorithm_ranks[i]) + " (" +
              fleet.ranks[size_t(fleet.other_algorithm_ranks[i])].algorithm + ")";
  if (count > kNamedRanks) others += " and " + std::to_string(count - kNamedRanks) + " more";
  row_.notes.push_back("not all ranks did the same: rank " + std::to_string(fleet.middle_rank) +
                       " " + usual + "; ranks " + others);
}

}  // namespace deepbench
