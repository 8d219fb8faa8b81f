// A device that computes without pause heats up and draws more power, and its clock follows within
// seconds. Calls of a sustained regime are sampled once the clock and the times have settled.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "deepbench/core/export.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/measure/batch.hpp"

namespace deepbench {

// A device that has computed nothing for this long has left the state of a sustained load.
inline constexpr double kIdleNs = 1e9;

// Records when a device computed last, across rows.
class DeviceActivity {
 public:
  // `is_sustained`: the batch is part of a sustained load.
  void add_batch(bool is_sustained) {
    idle_ns_ = 0;
    watch_.lap_ns();
    was_sustained_ = is_sustained;
  }
  bool was_idle() { return idle_ns() > kIdleNs; }
  // How much longer a device must compute nothing until it has left the state of a sustained load.
  double recovery_ns() { return was_sustained_ ? std::max(0.0, kIdleNs - idle_ns()) : 0; }

 private:
  double idle_ns() { return idle_ns_ += watch_.lap_ns(); }

  Stopwatch watch_;
  double idle_ns_ = kIdleNs;  // at first the device has been idle
  bool was_sustained_ = false;
};

// Decides when the load that precedes the samples has settled.
class DEEPBENCH_API SustainedLoad {
 public:
  // The load lasts at least `min_ns`.
  explicit SustainedLoad(double min_ns) : min_ns_(min_ns) {}

  void add(const Batch& batch);
  // Whether two successive windows agree in clock and time, or the load has reached its cap.
  bool has_settled() const;

 private:
  struct Window {
    double spent_ns = 0;
    std::vector<double> per_call_ns, clocks_mhz;
  };

  const double min_ns_;
  double spent_ns_ = 0;
  Window current_;
  std::optional<Window> latest_, previous_;  // the last two complete windows
};

}  // namespace deepbench
