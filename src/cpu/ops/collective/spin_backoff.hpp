// Waits for neighbors without a second thread.
#pragma once

#include <sched.h>

#include <cstdint>

#include "deepbench/backend/ranks.hpp"
#include "timing.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {

// Spins first, then yields the core, and regularly checks whether the wait has become pointless.
class SpinBackoff {
 public:
  explicit SpinBackoff(double timeout_s) : timeout_s_(timeout_s) {}

  void reset() { turn_ = 0, idle_since_ns_ = 0; }

  // Waits one turn. `find_failure` returns a description of a neighbor's failure, or nullptr.
  // Throws plugin::Error with DEEPBENCH_DEVICE_LOST on a failure or a timeout.
  template <class FindFailure>
  void wait(const FindFailure& find_failure) {
    if (turn_++ < kSpins) return pause_while_spinning();
    sched_yield();
    if (turn_ % kCheckInterval == 0) check_progress(find_failure());
  }

 private:
  // Some microseconds of spinning before the rank yields its core.
  static constexpr uint64_t kSpins = 4000;
  static constexpr uint64_t kCheckInterval = 1 << 8;  // The number of yields between two checks.

  void check_progress(const char* failure) {
    const double now_ns = elapsed_ns(Clock::time_point(), Clock::now());
    if (idle_since_ns_ == 0) idle_since_ns_ = now_ns;
    if (!failure && plugin::ranks().must_abort())
      failure = "the call stopped because another rank has failed";
    if (!failure && now_ns - idle_since_ns_ > timeout_s_ * 1e9)
      failure = "its neighbors sent no data within the timeout";
    if (failure) throw plugin::Error(DEEPBENCH_DEVICE_LOST, failure);
  }

  const double timeout_s_;
  uint64_t turn_ = 0;
  double idle_since_ns_ = 0;  // The time of the first check without progress.
};

}  // namespace deepbench::cpu
