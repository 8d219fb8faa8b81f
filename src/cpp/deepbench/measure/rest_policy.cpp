// How long a device rests.
#include "deepbench/measure/rest_policy.hpp"

#include <algorithm>

namespace deepbench {
namespace {

constexpr double kLoweredClockRatio = 0.98;   // of the highest clock
constexpr double kMinClockedBatchNs = 100e3;  // a shorter batch does not tell the clock
// Half of what a batch took, within bounds: on an H200 half a millisecond brings medians of half
// products within 1 % of one another that without it are up to 18 % apart, and half of 37 ms those
// of long products in float that are 2.8 % apart after 5 ms (docs/results/log/h200_gemm.md).
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
