// The clock of the multiprocessors over a batch: a stamp of cycles and nanoseconds from each before
// it and after it.
#pragma once

#include <cstdint>

#include "buffer.hpp"
#include "kernels/jit.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class ClockStamps {
 public:
  // Throws plugin::Error where our kernels cannot be compiled.
  explicit ClockStamps(const Stream& stream);

  void begin(nvidia::cudaStream_t stream) const { stamp(0, stream); }
  void end(nvidia::cudaStream_t stream) const { stamp(1, stream); }
  // Median over the multiprocessors, once both are done; 0 if it cannot be told:
  // over a few microseconds it cannot.
  double mhz() const;

 private:
  struct Stamp {  // as in kernels/clock.cu
    uint64_t clock, nanoseconds;
    uint32_t multiprocessor, padding;
  };

  Stamp* stamps(int which) const;
  void stamp(int which, nvidia::cudaStream_t stream) const;

  const Function& function_;
  uint32_t multiprocessors_;
  HostBuffer memory_;  // page-locked: the device writes to it directly
};

}  // namespace deepbench::cuda
