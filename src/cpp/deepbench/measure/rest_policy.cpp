// Detects a lowered clock and computes the length of the rest.
#include "deepbench/measure/rest_policy.hpp"

#include <algorithm>

namespace deepbench {
namespace {

constexpr double kLoweredClockRatio = 0.98;   // share of the highest clock
constexpr double kMinClockedBatchNs = 100e3;  // the clock reading of a shorter batch is unreliable
// A rest is half as long as the batch, within bounds. On an H200, rests of 0.5 ms bring the medians
// of half products within 1 % of one another; without rests they differ by up to 18 %. Rests of
// half a 37 ms batch do the same for long float products, which differ by 2.8 % after rests of 5 ms
// (docs/results/log/h200_other.md).
constexpr double kRestShareOfBatch = 0.5, kMinRestNs = 500e3, kMaxRestNs = 25e6;

}  // namespace

void RestPolicy::add(const Batch& batch) {
  if (max_clock_mhz_ <= 0 || batch.elapsed_ns < kMinClockedBatchNs) return;
  const bool is_low = batch.clock_mhz > 0 && batch.clock_mhz < kLoweredClockRatio * max_clock_mhz_;
  lowered_ = lowered_ || is_low || batch.power_capped;
  if (lowered_)
    next_rest_ns_ = std::clamp(kRestShareOfBatch * batch.elapsed_ns, kMinRestNs, kMaxRestNs);
}

}  // namespace deepbench
