// Compares the medians of successive windows of a load.
#include "deepbench/measure/sustained_load.hpp"

#include <cmath>
#include <utility>

#include "deepbench/measure/options.hpp"
#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

constexpr double kWindowNs = 0.5e9;
constexpr double kSteadyTolerance = 0.005;

bool agree(const std::vector<double>& one, const std::vector<double>& other) {
  if (one.empty() || other.empty()) return one.empty() == other.empty();
  const double reference = median(one);
  return std::abs(median(other) - reference) <= kSteadyTolerance * reference;
}

}  // namespace

void SustainedLoad::add(const Batch& batch) {
  spent_ns_ += batch.spent_ns();
  current_.spent_ns += batch.spent_ns();
  current_.per_call_ns.push_back(batch.per_call_ns());
  if (batch.clock_mhz > 0) current_.clocks_mhz.push_back(batch.clock_mhz);
  if (current_.spent_ns < kWindowNs) return;
  previous_ = std::move(latest_);
  latest_ = std::exchange(current_, {});
}

bool SustainedLoad::has_settled() const {
  if (spent_ns_ < min_ns_) return false;
  if (spent_ns_ >= kMaxLoadNs) return true;
  return previous_ && agree(previous_->per_call_ns, latest_->per_call_ns) &&
         agree(previous_->clocks_mhz, latest_->clocks_mhz);
}

}  // namespace deepbench
