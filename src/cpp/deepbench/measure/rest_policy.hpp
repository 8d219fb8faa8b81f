// Rests between batches. A device that lowers its clock because of its power draw keeps the clock
// low for a while, even if an earlier row caused the draw: without rests a row's time depends on
// the rows that ran earlier. After a rest it depends on the row alone.
#pragma once

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"

namespace deepbench {

class DEEPBENCH_API RestPolicy {
 public:
  // `max_clock_mhz` is the device's highest clock. 0 disables rests, because the device does not
  // report its clock or is to be loaded without pause.
  explicit RestPolicy(double max_clock_mhz) : max_clock_mhz_(max_clock_mhz) {}

  // Whether the device may rest at all.
  bool rests() const { return max_clock_mhz_ > 0; }
  // Adds a batch. A rest precedes every batch after the first one with a lowered clock.
  void add(const Batch& batch);
  // Rest before the next batch.
  double next_rest_ns() const { return next_rest_ns_; }

 private:
  double max_clock_mhz_;
  double next_rest_ns_ = 0;
  bool lowered_ = false;
};

}  // namespace deepbench
