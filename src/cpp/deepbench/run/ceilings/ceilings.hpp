// The limits of a device, measured as problems through the same loop as rows when a row first needs
// them, and cached for the process: arithmetic per precision, bandwidth of each level of the memory
// hierarchy, and the latency of the smallest call.
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
  int64_t bytes = 0;  // capacity; 0 for the memory itself
};

// The ceilings of one row as they are measured. Zero: unknown.
struct RowCeilings {
  MemoryLevel level;  // that the row's bytes come from
  double flops_per_s = 0, bytes_per_s = 0, latency_ns = 0;
};

class DEEPBENCH_API Ceilings {
 public:
  // Median time of a problem in nanoseconds, or 0 if it cannot be run.
  using MeasureProblem = std::function<double(const std::string& problem)>;

  // `device` are the facts of describe_device.
  Ceilings(const Attributes& device, MeasureProblem measure);

  // All ceilings that the row needs, measured unless they are cached.
  RowCeilings of(const Problem& problem, bool cold);

  // Floating-point operations per second of the best of several large products; 0 if none runs.
  double arithmetic(const std::string& precision);
  // Bytes per second of a level: the better of read and copy for the memory, read for a cache.
  double bandwidth(const MemoryLevel& level);
  // Time of the smallest product in nanoseconds; 0 if it does not run.
  double latency_ns(const std::string& precision);

  // The smallest level that holds the working set. The operands of cold rows, and of rows larger
  // than twice the last-level cache, come from the memory.
  MemoryLevel level_of(double bytes, bool cold) const;

  // Replaces a figure by a higher one that a row reached steadily; later measurements of the
  // ceiling never fall below it.
  void raise_arithmetic(const std::string& precision, double flops_per_s);
  void raise_bandwidth(const MemoryLevel& level, double bytes_per_s);
  // Discards a cached figure, so that its next use measures it again.
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
