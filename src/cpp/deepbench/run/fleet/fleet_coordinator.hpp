// Synchronizes the ranks of a fleet, which all make the same row, each on its device: provides the
// barriers and collects all results on rank 0.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/fleet/fleet_summary.hpp"
#include "deepbench/run/row/measuring_hooks.hpp"
#include "deepbench/run/row/row_steps.hpp"

namespace deepbench {

struct MergedFleet {
  FleetSummary summary;                    // on ranks other than 0, only the outcome of the row
  std::optional<Findings> representative;  // findings of the representative; on rank 0 only
};

// The barriers of one row, and the hooks with which a trial takes part in them. Every function
// throws RowFailure once a rank is gone, with group().failing() or as a RankDisconnected.
class DEEPBENCH_API FleetCoordinator final : public MeasuringHooks {
 public:
  // `rank_devices` and `candidate` matter on rank 0: the devices of all ranks, and the candidate
  // that all ranks measure.
  FleetCoordinator(Group& group, std::vector<RankDevice> rank_devices, std::string candidate = "");

  Group& group() const { return group_; }
  // Called between this rank's last sample and the end barrier, while its device is still warm.
  std::function<void()> when_measured;

  // The barrier after every rank has checked support and memory. Returns rank 0's candidate.
  const std::string& agree_on_candidate();
  // The barrier before warm-up: all ranks load shared resources, such as power, at the same time.
  void start_barrier();
  // The barrier after this rank's last sample. Repeats `keep_running` until all ranks have their
  // samples, so that the others are measured beside busy neighbors as well.
  void end_barrier(const std::function<void()>& keep_running);

  void before_warm_up() override { start_barrier(); }
  void after_batch() override { group_.check_all_connected(); }
  void after_samples(const std::function<void()>& repeat_batch) override {
    end_barrier(repeat_batch);
  }

  // Combines the results of all ranks. Takes part in the barriers that this rank has not reached,
  // so that a failed rank delays nobody.
  MergedFleet merge(const RankResult& mine, const Findings& found);

 private:
  enum Stage { kChecking, kPreparing, kMeasuring, kDone };
  void pass_remaining_barriers();

  Group& group_;
  std::vector<RankDevice> rank_devices_;
  std::string candidate_;
  Stage stage_ = kChecking;
};

// The device of every rank, on rank 0; empty on the others.
DEEPBENCH_API std::vector<RankDevice> gather_rank_devices(Group& group, const RankDevice& mine);

// One line about ranks that share a device, "" if no ranks do. Ignores devices without a uuid, such
// as a CPU whose cores the ranks divide.
DEEPBENCH_API std::string shared_devices_warning(const std::vector<RankDevice>& rank_devices);

}  // namespace deepbench
