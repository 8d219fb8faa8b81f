// Times batches with the clock of the host: calls back to back, or isolated calls where something
// must happen between them.
#pragma once

#include <cstdint>

#include "copies.hpp"
#include "deepbench/backend/host_timer.hpp"
#include "deepbench/plugin.hpp"

// Called around the timed calls of a request with DEEPBENCH_REQUEST_MARKERS: profilers and
// simulators find the region by these two names.
extern "C" {
DEEPBENCH_EXPORT void deepbench_region_begin();
DEEPBENCH_EXPORT void deepbench_region_end();
}

namespace deepbench::cpu {

using plugin::Clock;
using plugin::elapsed_ns;

// Marks the region during its lifetime, if the request asks for it.
class MarkedRegion {
 public:
  explicit MarkedRegion(const deepbench_request& request)
      : marked_((request.flags & DEEPBENCH_REQUEST_MARKERS) != 0) {
    if (marked_) deepbench_region_begin();
  }
  ~MarkedRegion() {
    if (marked_) deepbench_region_end();
  }
  MarkedRegion(const MarkedRegion&) = delete;
  MarkedRegion& operator=(const MarkedRegion&) = delete;

 private:
  const bool marked_;
};

inline void check_request(const deepbench_request& request) {
  if (request.count == 0) plugin::invalid("time_batch: the batch has no calls");
}

// Makes request.count calls of call(copy) and fills in the batch. The flusher empties the caches
// before every call, outside the measured time.
template <class Call>
void time_calls(const deepbench_request& request, Rotation& rotation, CacheFlusher* flusher,
                Call call, deepbench_batch& batch) {
  const Clock::time_point entered = Clock::now();
  check_request(request);
  const bool isolated = flusher != nullptr || request.launch == DEEPBENCH_LAUNCH_ISOLATED;
  {
    const MarkedRegion region(request);
    if (isolated) {
      for (uint64_t i = 0; i < request.count; ++i) {
        if (flusher) flusher->flush();
        const uint64_t copy = rotation.next();
        const Clock::time_point begin = Clock::now();
        call(copy);
        batch.elapsed_ns += elapsed_ns(begin, Clock::now());
      }
    } else {
      const Clock::time_point begin = Clock::now();
      for (uint64_t i = 0; i < request.count; ++i) call(rotation.next());
      batch.elapsed_ns = elapsed_ns(begin, Clock::now());
    }
  }
  batch.count = request.count;
  batch.copies_touched = rotation.touched(request.count);
  batch.launch = isolated ? DEEPBENCH_LAUNCH_ISOLATED : DEEPBENCH_LAUNCH_STREAM;
  batch.timer = "steady_clock";
  batch.host_ns = elapsed_ns(entered, Clock::now());
}

}  // namespace deepbench::cpu
