// Waiting for neighbours without a thread.
#pragma once

#include <sched.h>

#include <cstdint>

#include "deepbench/backend/ranks.hpp"
#include "timing.hpp"
#include "worker_pool.hpp"

namespace deepbench::cpu {

// Spins, then gives the core away, and now and then looks whether it waits in vain.
class SpinBackoff {
 public:
  explicit SpinBackoff(double timeout_s) : timeout_s_(timeout_s) {}

  void reset() { turn_ = 0, idle_since_ns_ = 0; }

  // One turn. `find_failure` says which neighbour is, or nullptr. Throws plugin::Error with
  // DEEPBENCH_DEVICE_LOST.
  template <class FindFailure>
  void wait(const FindFailure& find_failure) {
    if (turn_++ < kSpins) return relax();
    sched_yield();
    if (turn_ % kCheckInterval == 0) check_progress(find_failure());
  }

 private:
  static constexpr uint64_t kSpins = 4000;  // some microseconds, before the core is given away
  static constexpr uint64_t kCheckInterval = 1 << 8;  // turns of waiting without the core

  void check_progress(const char* failure) {
    const double now_ns = elapsed_ns(Clock::time_point(), Clock::now());
    if (idle_since_ns_ == 0) idle_since_ns_ = now_ns;
    if (!failure && plugin::ranks().must_abort())
      failure = "a rank has failed, and the sum was given up";
    if (!failure && now_ns - idle_since_ns_ > timeout_s_ * 1e9)
      failure = "its neighbours are silent";
    if (failure) throw plugin::Error(DEEPBENCH_DEVICE_LOST, failure);
  }

  const double timeout_s_;
  uint64_t turn_ = 0;
  double idle_since_ns_ = 0;  // since when, at the first look
};

}  // namespace deepbench::cpu
