/* Waits for another block. If that block is not resident on the device, its data never arrives;
 * the kernel then traps instead of waiting forever. The clock is read so rarely that no step is
 * delayed. */
#ifndef DEEPBENCH_CUDA_KERNELS_LIMITED_WAIT_H_
#define DEEPBENCH_CUDA_KERNELS_LIMITED_WAIT_H_

#include "device_clock.h"

#define WAIT_LIMIT_NS 10000000000ull
#define WAIT_LOOKS_PER_READING (1u << 14) /* some milliseconds */

namespace {

struct LimitedWait {
  uint32_t looks = 0;
  uint64_t first_reading = 0;

  __device__ void look() {
    if (++looks % WAIT_LOOKS_PER_READING != 0) return;
    const uint64_t now = now_ns();
    if (first_reading == 0) first_reading = now;
    if (now - first_reading > WAIT_LIMIT_NS) __trap();
  }
};

}  // namespace

#endif /* DEEPBENCH_CUDA_KERNELS_LIMITED_WAIT_H_ */
