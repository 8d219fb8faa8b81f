// A row that every rank makes by itself on its own device, at the same time as all others: where
// they wait for one another, and how rank 0 gets to know what all have found.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/fleet/fleet_summary.hpp"
#include "deepbench/run/row/row.hpp"

namespace deepbench {

// Each rank's row, from its first call to its end. A rank that fails takes part in what is left by
// merge() alone. Everything throws RowFailure once a rank is gone, with group().failing() or as a
// RankDisconnected.
class DEEPBENCH_API FleetCoordinator {
 public:
  // `rank_devices` are rank 0's, of all ranks; `candidate` too: which one all are to measure.
  FleetCoordinator(Group& group, std::vector<RankDevice> rank_devices, std::string candidate = "");

  Group& group() const { return group_; }
  // Called on this rank between its last sample and end(), while its device is still warm.
  std::function<void()> when_measured;

  // After every rank has looked whether it can and has room: rank 0's candidate.
  const std::string& agree_on_candidate();
  // Waits until all are about to warm up, so that they load what they share at the same time.
  void start_barrier();
  // This rank has all samples that it needs. It goes on calling until the others have theirs: they
  // too are to be measured beside neighbours at work.
  void end_barrier(const std::function<void()>& keep_running);
  // Between batches.
  void check_all_connected() { group_.check_all_connected(); }

  // What all have found; on the other ranks than 0 only how the row ends. On rank 0 all that `row`
  // says of a device becomes what the middle rank's says.
  FleetSummary merge(const RankResult& mine, Row& row);

 private:
  enum Stage { kChecking, kPreparing, kMeasuring, kDone };
  void pass_remaining_barriers();

  Group& group_;
  std::vector<RankDevice> rank_devices_;
  std::string candidate_;
  Stage stage_ = kChecking;
};

// Every rank's place, on rank 0; nothing on the others.
DEEPBENCH_API std::vector<RankDevice> gather_rank_devices(Group& group, const RankDevice& mine);

// One line on ranks that take the same device, "" where none do; devices without a number of their
// own, such as a CPU that ranks divide, are no such matter.
DEEPBENCH_API std::string shared_devices_warning(const std::vector<RankDevice>& rank_devices);

}  // namespace deepbench
