// A row that every rank makes by itself on its own device, at the same time as all others: where
// they wait for one another, and how rank 0 gets to know what all have found.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/run/fleet_verdict.hpp"
#include "deepbench/run/verify.hpp"

namespace deepbench {

// What a row has of the rank in the middle: all figures of one device, which belong together.
struct MiddleRank {
  std::optional<Samples> samples;
  Verification verification;
  Attributes observed;
  std::vector<Metric> metrics;
  std::string library, algorithm;
};

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

  // What all have found; on the other ranks than 0 only how the row ends. `middle` is this rank's,
  // and becomes the middle one's on rank 0.
  Fleet settle(const RankFigures& mine, MiddleRank& middle);

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

// A line for each device that several ranks take, by their numbers; devices without a number of
// their own, such as a CPU that ranks divide, are no such matter.
DEEPBENCH_API std::vector<std::string> shared_devices(const std::vector<RankPlace>& places);

}  // namespace deepbench
