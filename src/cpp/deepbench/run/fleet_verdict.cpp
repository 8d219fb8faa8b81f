// Judging a fleet by one row.
#include "deepbench/run/fleet_verdict.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr double kLeastLimit = 0.03;     // devices of one kind differ by one or two per cent
constexpr size_t kFewest = 3;            // of two, who is out of line?
constexpr double kScaledMads = 5;        // fewer than one in a million, were they normal
constexpr double kMadToSpread = 1.4826;  // to the standard deviation of a normal distribution

// The gravest first. A lost device ends all ranks, so that it comes before all.
constexpr std::array<Status, 7> kGravity = {
    Status::kDeviceLost, Status::kIncorrect, Status::kFailed,     Status::kOutOfMemory,
    Status::kMistrusted, Status::kInvalid,   Status::kUnsupported};

std::string rank_named(const Fleet& fleet, size_t rank) {
  std::string name = "rank " + std::to_string(rank);
  if (rank >= fleet.places.size()) return name;
  const RankPlace& place = fleet.places[rank];
  return name + " (" + place.host + ", device " + std::to_string(place.device) + ")";
}

// What all ranks say alike is said of none.
void find_status(Fleet& fleet) {
  for (const Status status : kGravity) {
    const auto ends_so = [&](const RankFigures& one) { return one.status == status; };
    const auto first = std::find_if(fleet.ranks.begin(), fleet.ranks.end(), ends_so);
    if (first == fleet.ranks.end()) continue;
    const auto count = std::count_if(fleet.ranks.begin(), fleet.ranks.end(), ends_so);
    fleet.status = status;
    fleet.reason = first->reason;
    if (count == std::ptrdiff_t(fleet.ranks.size())) return;
    fleet.reason = rank_named(fleet, size_t(first - fleet.ranks.begin())) + ": " + fleet.reason;
    if (count > 1) fleet.reason += " (and " + std::to_string(count - 1) + " more ranks)";
    return;
  }
}

// What most ranks ran; times of anything else say nothing of devices.
std::string usual_way(const Fleet& fleet) {
  std::map<std::string, int> counts;
  for (const RankFigures& one : fleet.ranks) counts[one.made_by] += one.counts();
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == counts.end() ? "" : most->first;
}

// Ranks with a time that counts, the quickest first.
std::vector<int> in_order(const Fleet& fleet) {
  const std::string usual = usual_way(fleet);
  std::vector<int> order;
  for (size_t rank = 0; rank < fleet.ranks.size(); ++rank)
    if (fleet.ranks[rank].counts() && fleet.ranks[rank].made_by == usual)
      order.push_back(int(rank));
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return fleet.ranks[size_t(a)].median_ns < fleet.ranks[size_t(b)].median_ns;
  });
  return order;
}

int first_with_time(const Fleet& fleet) {
  for (size_t rank = 0; rank < fleet.ranks.size(); ++rank)
    if (fleet.ranks[rank].has_time()) return int(rank);
  return -1;
}

void find_outliers(Fleet& fleet, const std::vector<int>& order) {
  const double low = (1 - fleet.limit) * fleet.middle_ns,
               high = (1 + fleet.limit) * fleet.middle_ns;
  for (const int rank : order) {
    const RankFigures& one = fleet.ranks[size_t(rank)];
    if (one.low_ns > high || one.high_ns < low)
      fleet.outliers.push_back({rank, one.median_ns / fleet.middle_ns - 1});
  }
  std::sort(fleet.outliers.begin(), fleet.outliers.end(),
            [](const Outlier& a, const Outlier& b) { return a.rank < b.rank; });
}

void find_apart(Fleet& fleet) {
  for (size_t rank = 0; fleet.of >= 0 && rank < fleet.ranks.size(); ++rank) {
    const RankFigures& one = fleet.ranks[rank];
    if (one.has_time() && one.made_by != fleet.ranks[size_t(fleet.of)].made_by)
      fleet.apart.push_back(int(rank));
  }
}

}  // namespace

Fleet judged(std::vector<RankFigures> ranks, std::vector<RankPlace> places) {
  Fleet fleet;
  fleet.ranks = std::move(ranks);
  fleet.places = std::move(places);
  find_status(fleet);
  const std::vector<int> order = in_order(fleet);
  if (order.empty()) {
    fleet.of = first_with_time(fleet);
    find_apart(fleet);
    return fleet;
  }
  std::vector<double> medians;
  for (const int rank : order) medians.push_back(fleet.ranks[size_t(rank)].median_ns);
  fleet.of = order[(order.size() - 1) / 2];
  find_apart(fleet);
  fleet.quickest = order.front();
  fleet.slowest = order.back();
  fleet.middle_ns = median(medians);
  fleet.spread = (medians.back() - medians.front()) / fleet.middle_ns;
  if (order.size() < kFewest) return fleet;
  const double scaled_mad = kMadToSpread * median_absolute_deviation(medians) / fleet.middle_ns;
  fleet.limit = std::max(kLeastLimit, kScaledMads * scaled_mad);
  find_outliers(fleet, order);
  return fleet;
}

}  // namespace deepbench
