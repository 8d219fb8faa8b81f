// Host time of a row's stages (docs/reference/rows.md, stages_ns), of rests and of waiting for
// other ranks. Reported measurements never come from here: they come from the backend's time_batch.
#pragma once

#include <chrono>
#include <thread>

namespace deepbench {

class Stopwatch {
 public:
  // Nanoseconds since construction or since the previous call.
  double lap_ns() {
    const auto now = std::chrono::steady_clock::now();
    const double ns = std::chrono::duration<double, std::nano>(now - last_).count();
    last_ = now;
    return ns;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// Waits for `ns`, accurate to about a microsecond, and returns the time waited. It sleeps first and
// polls for the last 200 us, because a processor that has just woken up is slow and about 60 us
// late.
inline double sleep_for_ns(double ns) {
  constexpr double kPollNs = 200e3;
  Stopwatch watch;
  if (ns > kPollNs)
    std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(ns - kPollNs));
  double waited_ns = watch.lap_ns();
  while (waited_ns < ns) waited_ns += watch.lap_ns();
  return waited_ns;
}

}  // namespace deepbench
