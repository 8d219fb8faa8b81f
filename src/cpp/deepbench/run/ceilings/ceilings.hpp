// The limits that rows are held against, measured as problems through the same loop when they are
// first needed, and kept for the process: arithmetic per precision, reading from each level of the
// memory hierarchy, and the shortest possible call.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"

namespace deepbench {

struct MemoryLevel {
  std::string name;   // "l1", "l2", "llc", "memory"
  int64_t bytes = 0;  // what fits; 0 for the memory itself
};

class DEEPBENCH_API Ceilings {
 public:
  // Median time of a problem in nanoseconds, or 0 where it cannot be run.
  using MeasureProblem = std::function<double(const std::string& problem)>;

  // `device` are the facts of describe_device.
  Ceilings(const Attributes& device, MeasureProblem measure);

  // Floating-point operations per second of the best of several large products; 0 if none runs.
  double arithmetic(const std::string& precision);
  // Bytes per second of a level: the best of read and copy for the memory, read for a cache.
  double bandwidth(const MemoryLevel& level);
  // Time of the smallest product in nanoseconds; 0 if it does not run.
  double latency_ns(const std::string& precision);

  // The level that the working set fits. Cold rows, and those larger than twice the last-level
  // cache, come from the memory.
  MemoryLevel level_of(double bytes, bool cold) const;

  // Takes a higher figure that was seen to be steady: no later measurement is below it.
  void raise_arithmetic(const std::string& precision, double flops_per_s);
  void raise_bandwidth(const MemoryLevel& level, double bytes_per_s);
  // Forgets a figure, so that it is measured again when next needed.
  void invalidate_arithmetic(const std::string& precision);
  void invalidate_bandwidth(const MemoryLevel& level);

 private:
  double measure_arithmetic(const std::string& precision);
  double measure_bandwidth(const MemoryLevel& level);
  double read_rate(int64_t bytes);

  std::vector<MemoryLevel> levels_;
  int64_t last_level_bytes_ = 0;
  MeasureProblem measure_;
  double cached(const std::string& key, const std::function<double()>& measured);
  void invalidate(const std::string& key);

  std::map<std::string, double> values_, raised_, previous_;
};

}  // namespace deepbench
