// The clock of the multiprocessors over a batch: a stamp of cycles and nanoseconds from each before
// it and after it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "buffer.hpp"
#include "kernels/jit.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// Written by kernels/clock.cu, which declares the same.
struct ClockStamp {
  uint64_t clock, nanoseconds;
  uint32_t multiprocessor, padding;
};

// The median clock over the multiprocessors that have stamped both times, each wherever it likes
// among `count` stamps; 0 if it cannot be told: over a few microseconds it cannot.
double median_mhz(const ClockStamp* before, const ClockStamp* after, size_t count);

class ClockStamps {
 public:
  // Throws plugin::Error where our kernels cannot be compiled.
  explicit ClockStamps(const Stream& stream);

  void begin(nvidia::cudaStream_t stream) const { stamp(0, stream); }
  void end(nvidia::cudaStream_t stream) const { stamp(1, stream); }
  // Once both are done: as median_mhz.
  double mhz() const { return median_mhz(stamps(0), stamps(1), multiprocessors_); }

 private:
  ClockStamp* stamps(int which) const;
  void stamp(int which, nvidia::cudaStream_t stream) const;

  const Function& function_;
  uint32_t multiprocessors_;
  HostBuffer memory_;  // page-locked: the device writes to it directly
};

}  // namespace deepbench::cuda
