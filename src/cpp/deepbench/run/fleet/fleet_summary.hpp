// The results of a fleet's ranks for one row, each from its device, and their comparison: the
// representative, the spread, and the outliers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/status.hpp"

namespace deepbench {

// The device of a rank.
struct RankDevice {
  std::string host;
  int64_t device = 0;
  std::string name, uuid;  // of the device; "": unknown
};

// The summary of one rank's row. Zero: unknown.
struct RankResult {
  Status status = Status::kOk;
  std::string reason;
  double median_ns = 0, low_ns = 0, high_ns = 0, error = 0;
  double clock_mhz = 0, temperature_c = 0, power_w = 0;
  int64_t throttled = 0;  // number of throttled samples
  std::string algorithm;  // library and algorithm

  bool has_time() const { return median_ns > 0; }
  bool counts() const { return status == Status::kOk && has_time(); }
};

struct Outlier {
  int rank = 0;
  double deviation = 0;  // distance from the ranks' median, as a share of it; positive: slow
};

struct FleetSummary {
  std::vector<RankResult> ranks;
  std::vector<RankDevice> rank_devices;
  Status status = Status::kOk;  // the most severe of all ranks
  std::string reason;           // names the rank that it comes from
  int representative = -1;      // the row shows this rank's figures; -1: none
  int fastest = -1, slowest = -1;
  double median_ns = 0;           // the ranks' median
  double spread = 0;              // between fastest and slowest, as a share of the median
  double outlier_limit = 0;       // the deviation beyond which a rank is an outlier; 0: unknown
  std::vector<Outlier> outliers;  // by rank
  std::vector<int> other_algorithm_ranks;  // ranks that used another library or algorithm than most
};

// A rank counts if its row is ok and made by the library and algorithm of most ranks. A rank is an
// outlier if the whole 95 % interval of its median is further from the ranks' median than 3 % and
// than five scaled MADs of the ranks' medians. Of two ranks neither is an outlier.
DEEPBENCH_API FleetSummary summarize_fleet(std::vector<RankResult> ranks,
                                           std::vector<RankDevice> rank_devices);

}  // namespace deepbench
