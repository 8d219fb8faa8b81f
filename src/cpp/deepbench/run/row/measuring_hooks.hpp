// Lets other code take part in the measurement of a trial. A trial without hooks measures by
// itself.
#pragma once

#include <functional>

namespace deepbench {

// Functions that a trial calls while it is measured. Each may throw RowFailure, which ends the
// measurement.
class MeasuringHooks {
 public:
  virtual ~MeasuringHooks() = default;

  // Called once, before the warm-up and after the first call is made and verified. A trial of a
  // single call has no warm-up: it calls the function before the call.
  virtual void before_warm_up() = 0;
  // Called after every batch.
  virtual void after_batch() = 0;
  // Called once, after the last sample. `repeat_batch` times one more batch, which is no sample.
  virtual void after_samples(const std::function<void()>& repeat_batch) = 0;
};

}  // namespace deepbench
