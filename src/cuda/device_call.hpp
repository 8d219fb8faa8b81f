// One call of a library or of built-in kernels on a device, in the form in which it is timed.
#pragma once

#include <cstdint>

#include "stream.hpp"

namespace deepbench::cuda {

// A capture may be in progress in all functions but wait(): they must neither allocate nor
// synchronize.
class DeviceCall {
 public:
  virtual ~DeviceCall() = default;

  // Enqueues one call on this copy of the operands on the stream, without waiting for it.
  virtual void enqueue(uint64_t copy) = 0;

  // For calls in which other devices take part. Work that is enqueued after enqueue_start_barrier()
  // starts when all devices have reached it. Work after enqueue_end_barrier() starts when all
  // devices have finished the work before it.
  virtual void enqueue_start_barrier() {}
  virtual void enqueue_end_barrier() {}
  // Waits for all enqueued work.
  virtual void wait(const Stream& stream) { stream.synchronize(); }
  // Whether time_batch tries to capture the call. Calls of several ranks return false where all
  // ranks must be timed in the same way: a capture that fails on one rank falls back there alone.
  virtual bool can_be_captured() const { return true; }
};

}  // namespace deepbench::cuda
