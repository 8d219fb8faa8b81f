// The baselines of a row: other problems, measured after it under the same conditions.
#pragma once

#include <string>
#include <vector>

#include "deepbench/core/attributes.hpp"
#include "deepbench/core/export.hpp"
#include "deepbench/core/operation.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row_context.hpp"
#include "deepbench/run/row/trial_slot.hpp"

namespace deepbench {

struct BaselineTime {
  std::string metric, speedup;  // as in Baseline
  double median_ns = 0;
  std::vector<double> samples_ns{};
  std::string name{};     // as in Baseline
  double most_speed = 0;  // as in Baseline
};

struct BaselineTimes {
  std::vector<BaselineTime> times;  // of the baselines that could be measured
  std::vector<std::string> notes;   // how each baseline was measured, or why it was not
};

class DEEPBENCH_API Baselines {
 public:
  // Admits, verifies and measures each baseline in `slot`, on the device, threads and cache regime
  // of the options of the `row`, through the backend's default library. A baseline of the previous
  // call with equal conditions keeps its time: rows of a sweep over the sparsity share theirs.
  // Throws RowFailure only for a lost device.
  BaselineTimes measure(const RowContext& context, const std::vector<Baseline>& baselines,
                        const RunOptions& row, TrialSlot& slot, Stages& stages);

 private:
  struct Measured {
    std::string problem;
    Attributes conditions;
    double median_ns = 0;
    std::vector<double> samples_ns;
    std::string kernel;  // names of library and algorithm
  };

  Measured measure_or_reuse(const RowContext& context, const Baseline& baseline,
                            const RunOptions& row, TrialSlot& slot, Stages& stages) const;

  std::vector<Measured> last_;  // the baselines of the previous call
};

}  // namespace deepbench
