// The clock of the multiprocessors during a batch, from a stamp of cycles and nanoseconds that each
// multiprocessor writes before and after it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "buffer.hpp"
#include "kernels/jit.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// kernels/clock.cu writes it and declares the same layout.
struct ClockStamp {
  uint64_t clock, nanoseconds;
  uint32_t multiprocessor, padding;
};

// The median clock over the multiprocessors with a stamp in both arrays; the order of the `count`
// stamps does not matter. 0 if the batch took only a few microseconds, which is too short.
double median_mhz(const ClockStamp* before, const ClockStamp* after, size_t count);

class ClockStamps {
 public:
  // Throws plugin::Error if the built-in kernels cannot be compiled.
  explicit ClockStamps(const Stream& stream);

  void begin(nvidia::cudaStream_t stream) const { stamp(0, stream); }
  void end(nvidia::cudaStream_t stream) const { stamp(1, stream); }
  // The result of median_mhz(), after both stamps are written.
  double mhz() const { return median_mhz(stamps(0), stamps(1), multiprocessors_); }

 private:
  ClockStamp* stamps(int which) const;
  void stamp(int which, nvidia::cudaStream_t stream) const;

  const Function& function_;
  uint32_t multiprocessors_;
  HostBuffer memory_;  // page-locked: the device writes to it directly
};

}  // namespace deepbench::cuda
