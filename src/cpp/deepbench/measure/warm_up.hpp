// Decides when calls have settled: caches filled, clocks risen, pages touched.
#pragma once

#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/measure/options.hpp"

namespace deepbench {

class DEEPBENCH_API WarmUp {
 public:
  // `estimate_ns` is the time of one call as far as is known.
  WarmUp(const MeasureOptions& options, double estimate_ns);

  // True when sampling may begin: nothing to do, settled, or the cap is reached.
  bool done() const;
  void add(const Batch& batch);

  // Calls per batch so that a span is long enough, from what was seen last.
  uint64_t batch_size() const { return batch_size_; }
  // Of at most the last ten batches; empty if the device does not tell.
  std::vector<double> last_clocks_mhz() const;

 private:
  bool settled() const;
  double cap_ns() const;
  double min_calls(double per_call_ns) const;
  void resize(double per_call_ns);

  MeasureOptions options_;
  double estimate_ns_;
  double spent_ns_ = 0;
  uint64_t batch_size_ = 1;
  bool resized_ = false;  // the last batch was too short to count
  bool rested_ = false;   // the device, before the last batch
  std::vector<double> times_ns_;
  std::vector<double> clocks_mhz_;
};

}  // namespace deepbench
