// Host time: of a row's stages, for its bookkeeping (docs/results.md, stages_ns), of rests, and of
// waiting for other ranks. No reported measurement comes from here: those come from the backend's
// time_batch.
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

// At least so long. Returns how long it was.
inline double sleep_ns(double ns) {
  Stopwatch watch;
  std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(ns));
  return watch.lap_ns();
}

}  // namespace deepbench
