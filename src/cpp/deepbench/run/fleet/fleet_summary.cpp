// Combining the results of a fleet's ranks.
#include "deepbench/run/fleet/fleet_summary.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr double kLeastLimit = 0.03;  // healthy devices of one kind differ by one or two per cent
constexpr size_t kFewest = 3;         // below three ranks no majority defines an outlier
constexpr double kScaledMads = 5;     // exceeded by fewer than one in a million normal values
constexpr double kMadToSpread =
    1.4826;  // from MAD to the standard deviation of a normal distribution

// The most severe status first: a lost device ends all ranks.
constexpr std::array<Status, 7> kStatusBySeverity = {
    Status::kDeviceLost, Status::kIncorrect, Status::kFailed,     Status::kOutOfMemory,
    Status::kMistrusted, Status::kInvalid,   Status::kUnsupported};

std::string rank_text(const FleetSummary& fleet, size_t rank) {
  std::string name = "rank " + std::to_string(rank);
  if (rank >= fleet.rank_devices.size()) return name;
  const RankDevice& rank_device = fleet.rank_devices[rank];
  return name + " (" + rank_device.host + ", device " + std::to_string(rank_device.device) + ")";
}

// Finds the most severe status. A reason that all ranks share names no rank.
void find_worst_status(FleetSummary& fleet) {
  for (const Status status : kStatusBySeverity) {
    const auto ends_so = [&](const RankResult& one) { return one.status == status; };
    const auto first = std::find_if(fleet.ranks.begin(), fleet.ranks.end(), ends_so);
    if (first == fleet.ranks.end()) continue;
    const auto count = std::count_if(fleet.ranks.begin(), fleet.ranks.end(), ends_so);
    fleet.status = status;
    fleet.reason = first->reason;
    if (count == std::ptrdiff_t(fleet.ranks.size())) return;
    fleet.reason = rank_text(fleet, size_t(first - fleet.ranks.begin())) + ": " + fleet.reason;
    if (count > 1) fleet.reason += " (and " + std::to_string(count - 1) + " more ranks)";
    return;
  }
}

// The algorithm of most ranks; times of other algorithms do not compare devices.
std::string most_common_algorithm(const FleetSummary& fleet) {
  std::map<std::string, int> counts;
  for (const RankResult& one : fleet.ranks) counts[one.algorithm] += one.counts();
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

// The ranks that count, the fastest first.
std::vector<int> counted_ranks_by_time(const FleetSummary& fleet) {
  const std::string usual = most_common_algorithm(fleet);
  std::vector<int> order;
  for (size_t rank = 0; rank < fleet.ranks.size(); ++rank)
    if (fleet.ranks[rank].counts() && fleet.ranks[rank].algorithm == usual)
      order.push_back(int(rank));
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return fleet.ranks[size_t(a)].median_ns < fleet.ranks[size_t(b)].median_ns;
  });
  return order;
}

int first_rank_with_time(const FleetSummary& fleet) {
  for (size_t rank = 0; rank < fleet.ranks.size(); ++rank)
    if (fleet.ranks[rank].has_time()) return int(rank);
  return -1;
}

void find_outliers(FleetSummary& fleet, const std::vector<int>& order) {
  const double low = (1 - fleet.outlier_limit) * fleet.median_ns,
               high = (1 + fleet.outlier_limit) * fleet.median_ns;
  for (const int rank : order) {
    const RankResult& one = fleet.ranks[size_t(rank)];
    if (one.low_ns > high || one.high_ns < low)
      fleet.outliers.push_back({rank, one.median_ns / fleet.median_ns - 1});
  }
  std::sort(fleet.outliers.begin(), fleet.outliers.end(),
            [](const Outlier& a, const Outlier& b) { return a.rank < b.rank; });
}

void find_other_algorithm_ranks(FleetSummary& fleet) {
  for (size_t rank = 0; fleet.representative >= 0 && rank < fleet.ranks.size(); ++rank) {
    const RankResult& one = fleet.ranks[rank];
    if (one.has_time() && one.algorithm != fleet.ranks[size_t(fleet.representative)].algorithm)
      fleet.other_algorithm_ranks.push_back(int(rank));
  }
}

}  // namespace

FleetSummary summarize_fleet(std::vector<RankResult> ranks, std::vector<RankDevice> rank_devices) {
  FleetSummary fleet;
  fleet.ranks = std::move(ranks);
  fleet.rank_devices = std::move(rank_devices);
  find_worst_status(fleet);
  const std::vector<int> order = counted_ranks_by_time(fleet);
  if (order.empty()) {
    fleet.representative = first_rank_with_time(fleet);
    find_other_algorithm_ranks(fleet);
    return fleet;
  }
  std::vector<double> medians;
  for (const int rank : order) medians.push_back(fleet.ranks[size_t(rank)].median_ns);
  fleet.representative = order[(order.size() - 1) / 2];
  find_other_algorithm_ranks(fleet);
  fleet.fastest = order.front();
  fleet.slowest = order.back();
  fleet.median_ns = median(medians);
  fleet.spread = (medians.back() - medians.front()) / fleet.median_ns;
  if (order.size() < kFewest) return fleet;
  const double scaled_mad = kMadToSpread * median_absolute_deviation(medians) / fleet.median_ns;
  fleet.outlier_limit = std::max(kLeastLimit, kScaledMads * scaled_mad);
  find_outliers(fleet, order);
  return fleet;
}

}  // namespace deepbench
