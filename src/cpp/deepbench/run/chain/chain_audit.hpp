// Looks for a backend whose chains lie: whose times do not fit together, or whose outputs do not
// come from the calls that are timed.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "deepbench/measure/audit.hpp"
#include "deepbench/run/chain/linked_problem.hpp"
#include "deepbench/run/row/timed_kernel.hpp"

namespace deepbench {

// What was seen when the outputs were verified after the samples.
struct VerifiedChain {
  double call_ns = 0;     // the longest time of a chain in a batch after the outputs were reset
  double reading_ns = 0;  // the time of the first reading
};

class ChainAudit {
 public:
  // `time` makes chains, and `reset_outputs` resets the outputs of all kernels. The other arguments
  // outlive the audit.
  ChainAudit(TimedKernel& timed, std::deque<LinkedProblem>& problems, BatchTimer time,
             std::function<void()> reset_outputs);

  // The reason to doubt the samples, or "". `least_many` is the number of chains in a batch whose
  // calls are counted whatever its length.
  std::string doubt(const Samples& samples, const MeasureOptions& how,
                    const VerifiedChain& verified, uint64_t least_many, bool is_device_shared);
  // Verifies that the outputs follow their operands, where these can be refilled, and returns for
  // how many kernels they do. Overwrites the operands. Throws RowFailure.
  uint64_t verify_other_operands(uint64_t seed);
  // The host time in which the outputs are read, without time for which other work held a
  // processor.
  double time_reading();

 private:
  Batch time_after_reset(const BatchTimer& time, uint64_t count);
  std::string doubt_about_resets(const Samples& samples, const MeasureOptions& how,
                                 double verified_ns);
  std::string doubt_about_clock(const Samples& samples, const MeasureOptions& how);
  std::string doubt_about_readings(const Samples& samples);
  void read_one();
  int64_t threads() const;
  double bytes() const;

  TimedKernel& timed_;
  std::deque<LinkedProblem>& problems_;
  const BatchTimer time_;
  const std::function<void()> reset_outputs_;
};

}  // namespace deepbench
