// Decides when calls have settled: caches are filled, clocks have risen, pages are touched.
#pragma once

#include <optional>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/measure/batch.hpp"
#include "deepbench/measure/options.hpp"
#include "deepbench/measure/sustained_load.hpp"

namespace deepbench {

class DEEPBENCH_API WarmUp {
 public:
  // `estimate_ns` is the best known time of one call.
  WarmUp(const MeasureOptions& options, double estimate_ns);

  // Whether sampling may begin: the calls need no warm-up, have settled, or have reached the cap.
  bool done() const;
  void add(const Batch& batch);

  // Calls per batch that make a batch long enough, judged by the last batch.
  uint64_t batch_size() const { return batch_size_; }
  // Calls of the last batch that was too short; 0 if none was.
  uint64_t short_batch_size() const { return short_batch_size_; }
  // The clocks of at most the last ten batches; empty if the device does not report its clock.
  std::vector<double> last_clocks_mhz() const;

 private:
  bool time_has_settled() const;
  double max_duration_ns() const;
  double min_calls(double per_call_ns) const;
  bool is_rotation_short(double per_call_ns) const;
  void set_batch_size(double per_call_ns);

  MeasureOptions options_;
  double estimate_ns_;
  std::optional<SustainedLoad> load_;
  double spent_ns_ = 0;
  uint64_t batch_size_ = 1, short_batch_size_ = 0;
  bool resized_ = false;  // the last batch was too short to count
  bool rested_ = false;   // the device rested before the last batch
  std::vector<double> times_ns_;
  std::vector<double> clocks_mhz_;
};

}  // namespace deepbench
