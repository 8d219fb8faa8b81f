// Rests between batches. A device that lowers its clock for the power that calls draw goes on doing
// so for what was drawn before, by other rows too: what a row takes then depends on its
// predecessors. After a rest it depends on the row alone.
#pragma once

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"

namespace deepbench {

class DEEPBENCH_API RestPolicy {
 public:
  // Of a device whose clock is at most so high; 0: it does not tell, or is to be loaded steadily.
  explicit RestPolicy(double max_clock_mhz) : max_clock_mhz_(max_clock_mhz) {}

  // From the first batch on that found the clock lowered, all that follow are rested before.
  void add(const Batch& batch);
  // Before the next batch.
  double next_rest_ns() const { return next_rest_ns_; }

 private:
  double max_clock_mhz_;
  double next_rest_ns_ = 0;
  bool lowered_ = false;
};

}  // namespace deepbench
