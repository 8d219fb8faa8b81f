// Waiting for neighbours without a thread.
#pragma once

#include <sched.h>

#include <cstdint>

#include "deepbench/backend/ranks.hpp"
#include "timing.hpp"
#include "workers.hpp"

namespace deepbench::cpu {

// Spins, then gives the core away, and now and then looks whether it waits in vain.
class Patience {
 public:
  explicit Patience(double silence_s) : silence_s_(silence_s) {}

  void moved() { turn_ = 0, silent_ns_ = 0; }

  // One turn. `gone` says which neighbour is, or nullptr. Throws plugin::Error with
  // DEEPBENCH_DEVICE_LOST.
  template <class Gone>
  void wait(const Gone& gone) {
    if (turn_++ < kSpins) return relax();
    sched_yield();
    if (turn_ % kLookEvery == 0) look(gone());
  }

 private:
  static constexpr uint64_t kSpins = 4000;  // some microseconds, before the core is given away
  static constexpr uint64_t kLookEvery = 1 << 8;  // turns of waiting without the core

  void look(const char* lost) {
    const double now_ns = elapsed_ns(Clock::time_point(), Clock::now());
    if (silent_ns_ == 0) silent_ns_ = now_ns;
    if (!lost && plugin::ranks().lost()) lost = "a rank has failed, and the sum was given up";
    if (!lost && now_ns - silent_ns_ > silence_s_ * 1e9) lost = "its neighbours are silent";
    if (lost) throw plugin::Error(DEEPBENCH_DEVICE_LOST, lost);
  }

  const double silence_s_;
  uint64_t turn_ = 0;
  double silent_ns_ = 0;  // since when, at the first look
};

}  // namespace deepbench::cpu
