// Creates and records events.
#include "event.hpp"

#include "status_check.hpp"

namespace deepbench::cuda {

Event::Event() { CUDA_CHECK(cudart().cudaEventCreateWithFlags(&event_, nvidia::cudaEventDefault)); }

Event::~Event() { cudart().cudaEventDestroy(event_); }

void Event::record(nvidia::cudaStream_t stream, bool capturing) const {
  if (capturing)
    CUDA_CHECK(cudart().cudaEventRecordWithFlags(event_, stream, nvidia::cudaEventRecordExternal));
  else
    CUDA_CHECK(cudart().cudaEventRecord(event_, stream));
}

double Event::elapsed_ns(const Event& begin) const {
  float milliseconds = 0;
  CUDA_CHECK(cudart().cudaEventElapsedTime(&milliseconds, begin.event_, event_));
  return double(milliseconds) * 1e6;
}

}  // namespace deepbench::cuda
