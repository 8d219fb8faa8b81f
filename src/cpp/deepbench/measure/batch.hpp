// One timed batch of calls, and the function that times a batch for the measuring loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace deepbench {

struct Batch {
  uint64_t count = 0;
  double elapsed_ns = 0;          // device time of all calls, of the slowest rank
  double host_ns = 0;             // host time of the whole batch as the backend states it
  double own_elapsed_ns = 0;      // device time of all calls on this rank
  double watched_ns = 0;          // host time on this rank by the core's stopwatch; 0: unknown
  double longest_watched_ns = 0;  // host time by the core's stopwatch on the slowest rank
  double rested_ns = 0;           // rest ahead of the batch (rest_policy.hpp)
  double untimed_ns = 0;          // host time of untimed calls ahead of the batch
  // The longest time for which a host thread that does the work was ready to run while other work
  // held its processor. Empty: unknown, or the host's threads do not do the work.
  std::optional<double> waited_ns{};
  // Whether a schedule perturbation preceded the batch (DEEPBENCH_REQUEST_PERTURB).
  bool schedule_perturbed = false;
  double clock_mhz = 0;       // 0: unknown
  bool throttled = false;     // by temperature or a hardware limit
  bool power_capped = false;  // by the software power cap: a label, not a fault
  std::string launch{}, timer{};

  // The larger host time counts, so that a backend cannot evade the time limit by understating its
  // own.
  double spent_ns() const { return rested_ns + untimed_ns + std::max(host_ns, longest_watched_ns); }
  double per_call_ns() const { return elapsed_ns / static_cast<double>(count); }
  // Device time without the time for which other work held a thread's processor.
  double undisturbed_ns() const { return std::max(0.0, elapsed_ns - waited_ns.value_or(0)); }
};

// Makes `count` calls and times them; throws if it cannot. Where several ranks run the loop, every
// rank receives the same batch except for its own clocks (run/row/collective_timing.hpp), so that
// all ranks decide alike.
using BatchTimer = std::function<Batch(uint64_t count)>;

}  // namespace deepbench
