// One candidate of one problem, prepared, verified and measured: what a row is made of, and what
// the ceilings and the choice of an algorithm use too.
#pragma once

#include <limits>
#include <optional>

#include "deepbench/core/export.hpp"
#include "deepbench/core/problem.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/measure/measure.hpp"
#include "deepbench/measure/rest_policy.hpp"
#include "deepbench/run/backend/backend.hpp"
#include "deepbench/run/row/options.hpp"
#include "deepbench/run/row/row.hpp"
#include "deepbench/run/row/verify.hpp"

namespace deepbench {

class DEEPBENCH_API Trial {
 public:
  // Prepares the candidate ("": the library's default). `stages` takes the time of everything
  // that this trial does. Throws RowFailure.
  Trial(const Backend& backend, const Problem& problem, const RunOptions& options,
        const std::string& candidate, Stages& stages);

  // The whole loop, with verification before and after it if the options ask for it. Throws
  // RowFailure; a wrong result is kIncorrect, with verification() saying how and samples() holding
  // what was measured until then.
  void measure(const MeasureOptions& how);

  // In place of measure(), where another trial of the same candidate has measured `samples`: one
  // batch of them, as a warm-up.
  void resume(const Samples& samples);

  // What single calls take on this rank, each after a meeting of all. After measure() or resume().
  std::vector<double> time_single_calls();

  // A few timed batches of at least `span_ns`, without verification, after calls that warm up. Of a
  // kernel whose calls take more than `max_call_ns` the last of these is the only sample.
  std::vector<double> sample(int count, double span_ns,
                             double max_call_ns = std::numeric_limits<double>::infinity());

  // Goes on calling, in the batches that were measured and without rests, for at least `span_ns` of
  // the device's time. Returns how many calls that were. After measure() or resume().
  uint64_t run_for(double span_ns);

  // One call between markers and nothing else.
  void run_once();

  const Attributes& facts() const { return kernel_->facts(); }
  const Verification& verification() const { return verification_; }
  const std::optional<Samples>& samples() const { return samples_; }

 private:
  void prepare(const Backend& backend, const Problem& problem, const RunOptions& options,
               const std::string& candidate);
  void reset_outputs();
  Batch batch(uint64_t count, deepbench_launch launch = DEEPBENCH_LAUNCH_BEST, uint32_t flags = 0);
  double rest();     // as long as is due, which is returned
  double shuffle();  // the host's time
  void warm_up(double max_call_ns);
  Batch time(uint64_t count);
  Batch time_without_rest(uint64_t count);  // without a rest
  void restore_if_needed(uint64_t count);
  void verify(const std::string& when);
  uint64_t restore_every() const;

  std::optional<Kernel> kernel_;
  std::optional<Verifier> verifier_;
  Verification verification_;
  Stages& stages_;
  Group* const group_;
  FleetCoordinator* const fleet_;
  const deepbench_launch launch_;
  RestPolicy rest_;
  bool shuffles_ = false;
  double local_call_ns_ = 0;  // of the last batch, on this rank alone
  uint64_t calls_since_restore_ = 0;
  double last_call_ns_ = 0;
  bool outputs_reset_ = false;  // the last batch wrote to armed outputs
  std::optional<Samples> samples_;
};

}  // namespace deepbench
