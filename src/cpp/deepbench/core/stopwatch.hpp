// Host time: of a row's stages (stages_ns in docs/reference/rows.md), of rests, and of waiting for
// other ranks. No reported measurement comes from here: those come from the backend's time_batch.
#pragma once

#include <chrono>
#include <thread>

namespace deepbench {

class Stopwatch {
 public:
  // Nanoseconds since this was made or last asked.
  double lap_ns() {
    const auto now = std::chrono::steady_clock::now();
    const double ns = std::chrono::duration<double, std::nano>(now - last_).count();
    last_ = now;
    return ns;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

// As long as that, to a microsecond or so. Asleep, but awake in time: a processor that has just
// woken up is slow, and late by some 60 us. Returns how long it was.
inline double sleep_for_ns(double ns) {
  constexpr double kAwakeNs = 200e3;
  Stopwatch watch;
  if (ns > kAwakeNs)
    std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(ns - kAwakeNs));
  double rested_ns = watch.lap_ns();
  while (rested_ns < ns) rested_ns += watch.lap_ns();
  return rested_ns;
}

}  // namespace deepbench
