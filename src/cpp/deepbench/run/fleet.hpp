// A row that every rank makes by itself on its own device, at the same time as all others: where
// they wait for one another, and how rank 0 gets to know what all have found.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/fleet_verdict.hpp"
#include "deepbench/run/result.hpp"

namespace deepbench {

// Each rank's row, from its first call to its end. A rank that fails takes part in what is left by
// settle() alone. Everything throws RowFailure once a rank is gone, with group().failing() or as a
// RankLost.
class DEEPBENCH_API FleetRow {
 public:
  // `places` are rank 0's, of all ranks; `candidate` too: which one all are to measure.
  FleetRow(Group& group, std::vector<RankPlace> places, std::string candidate = "");

  Group& group() const { return group_; }
  // Called on this rank between its last sample and end(), while its device is still warm.
  std::function<void()> when_measured;

  // After every rank has looked whether it can and has room: rank 0's candidate.
  const std::string& agree();
  // Waits until all are about to warm up, so that they load what they share at the same time.
  void start();
  // This rank has all samples that it needs. It goes on calling until the others have theirs: they
  // too are to be measured beside neighbours at work.
  void end(const std::function<void()>& go_on);
  // Between batches.
  void check_all_there() { group_.check_all_there(); }

  // What all have found; on the other ranks than 0 only how the row ends. On rank 0 all that `row`
  // says of a device becomes what the middle rank's says.
  Fleet settle(const RankFigures& mine, Result& row);

 private:
  enum Stage { kChecking, kPreparing, kMeasuring, kDone };
  void catch_up();

  Group& group_;
  std::vector<RankPlace> places_;
  std::string candidate_;
  Stage stage_ = kChecking;
};

// Every rank's place, on rank 0; nothing on the others.
DEEPBENCH_API std::vector<RankPlace> places_of_all(Group& group, const RankPlace& mine);

// One line on ranks that take the same device, "" where none do; devices without a number of their
// own, such as a CPU that ranks divide, are no such matter.
DEEPBENCH_API std::string shared_devices(const std::vector<RankPlace>& places);

}  // namespace deepbench
