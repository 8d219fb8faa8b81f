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
  double host_ns = 0;             // host time of the whole batch, as the backend says
  double own_elapsed_ns = 0;      // device time on this rank,
  double watched_ns = 0;          // and its host time by the core's stopwatch; 0: not watched
  double longest_watched_ns = 0;  // of the slowest rank
  double rested_ns = 0;           // rest ahead of the batch (rest_policy.hpp)
  double untimed_ns = 0;          // host time of untimed calls ahead of the batch
  // The longest time for which a host thread of the work was ready while other work had its
  // processor. Empty: unknown, or the host's threads do not do the work.
  std::optional<double> waited_ns{};
  // DEEPBENCH_REQUEST_PERTURB: the schedule of the batch was drawn anew.
  bool schedule_perturbed = false;
  double clock_mhz = 0;       // 0: unknown
  bool throttled = false;     // by temperature or a hardware limit
  bool power_capped = false;  // by the software power cap: a label, not a fault
  std::string launch{}, timer{};

  // A backend that understates its host time does not escape the limit of time.
  double spent_ns() const { return rested_ns + untimed_ns + std::max(host_ns, longest_watched_ns); }
  double per_call_ns() const { return elapsed_ns / static_cast<double>(count); }
  // The device time less that for which other work had the processor of a thread.
  double undisturbed_ns() const { return std::max(0.0, elapsed_ns - waited_ns.value_or(0)); }
};

// Makes `count` calls and times them; throws if it cannot. Where several ranks run the loop, every
// rank receives the same batch but for its own clocks (run/row/collective_timing.hpp) and therefore
// decides alike.
using BatchTimer = std::function<Batch(uint64_t count)>;

}  // namespace deepbench
