// What the ranks of a fleet found of one row, each on its own device, and what that says of the
// devices: which one stands for all, how far they lie apart, which are out of line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {

// Which device of which machine is a rank's.
struct RankDevice {
  std::string host;
  int64_t device = 0;
  std::string name, uuid;  // of the device; "": not known
};

// One rank's row, shortly. Zero: not known.
struct RankResult {
  Status status = Status::kOk;
  std::string reason;
  double median_ns = 0, low_ns = 0, high_ns = 0, error = 0;
  double clock_mhz = 0, temperature_c = 0, power_w = 0;
  int64_t throttled = 0;  // samples
  std::string algorithm;  // library and algorithm

  bool has_time() const { return median_ns > 0; }
  bool counts() const { return status == Status::kOk && has_time(); }
};

struct Outlier {
  int rank = 0;
  double deviation = 0;  // of the middle, as a share of it; positive: slow
};

struct FleetSummary {
  std::vector<RankResult> ranks;
  std::vector<RankDevice> rank_devices;
  Status status = Status::kOk;  // the gravest of all ranks'
  std::string reason;           // with the rank whose it is
  int middle_rank = -1;         // the rank in the middle, whose figures the row's own are; -1: none
  int fastest = -1, slowest = -1;
  double median_ns = 0;  // the ranks' median
  double spread = 0;     // from the quickest to the slowest, as a share of the middle
  double outlier_limit =
      0;  // who is further than this share from the middle is an outlier; 0: nobody
  std::vector<Outlier> outliers;  // by rank
  std::vector<int>
      other_algorithm_ranks;  // ranks with a time that another library or algorithm made than most
};

// Ranks count whose row is ok and made by the library and algorithm of most. An outlier lies, with
// the whole 95 % interval of its median, further from the ranks' median than 3 % and than five
// scaled MADs of the ranks' medians; of two ranks neither is one.
DEEPBENCH_API FleetSummary summarize_fleet(std::vector<RankResult> ranks,
                                           std::vector<RankDevice> rank_devices);

}  // namespace deepbench
