// A row of a fleet: this rank's own part of it, and what all of them come to.
#include <algorithm>
#include <new>
#include <utility>

#include "deepbench/core/operation.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/row.hpp"

namespace deepbench {
namespace {

constexpr size_t kNamedRanks = 8;  // in a note

// Does `body` and returns how it ended. What is not this rank's own failure goes on.
template <class Body>
RankFigures ended(const Group& group, Body body) {
  RankFigures figures;
  const auto with = [&](Status status, const char* reason) {
    figures.status = status;
    figures.reason = reason;
  };
  try {
    body();
  } catch (const RankLost&) {
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
void RowMaker::make_in_fleet() {
  FleetRow& fleet = *options_.fleet;
  fleet.when_measured = [this] { read_sensors(); };
  settle(ended(fleet.group(), [this] { make_own_part(); }));
  if (row_.fleet->status != Status::kOk) throw RowFailure(row_.fleet->status, row_.fleet->reason);
  // Alone: a ceiling is what the device can do at most, and the others sleep meanwhile.
  const bool first = fleet.group().rank() == 0;
  if (first && options_.ceilings && !options_.once) hold_against_ceilings();
}

void RowMaker::make_own_part() {
  require_support();
  require_memory();
  const std::string& candidate = options_.fleet->agree();
  if (options_.once) return measure_once();
  measure(candidate);
  note_clocks();
  if (options_.energy) measure_energy();
}

RankFigures RowMaker::own_figures() const {
  RankFigures figures;
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
  figures.made_by = row_.library + " " + row_.algorithm.name;
  return figures;
}

// The row's own figures become those of the rank in the middle, all of them of the same device.
void RowMaker::settle(RankFigures mine) {
  RankFigures figures = own_figures();
  figures.status = mine.status;
  figures.reason = std::move(mine.reason);
  row_.fleet = options_.fleet->settle(figures, row_);
  const Fleet& fleet = *row_.fleet;
  if (fleet.places.empty() || fleet.of < 0) return;  // not on rank 0, or there is none
  row_.device = fleet.places[size_t(fleet.of)].device;
  row_.device_name = fleet.places[size_t(fleet.of)].name;
  note_differing_ways();
}

// Times of different algorithms say nothing of devices.
void RowMaker::note_differing_ways() {
  const Fleet& fleet = *row_.fleet;
  const std::string& usual = fleet.ranks[size_t(fleet.of)].made_by;
  const size_t count = fleet.apart.size();
  if (count == 0) return;
  std::string others;
  for (size_t i = 0; i < std::min(count, kNamedRanks); ++i)
    others += (i > 0 ? ", " : "") + std::to_string(fleet.apart[i]) + " (" +
              fleet.ranks[size_t(fleet.apart[i])].made_by + ")";
  if (count > kNamedRanks) others += " and " + std::to_string(count - kNamedRanks) + " more";
  row_.notes.push_back("not all ranks did the same: rank " + std::to_string(fleet.of) + " " +
                       usual + "; ranks " + others);
}

}  // namespace deepbench
