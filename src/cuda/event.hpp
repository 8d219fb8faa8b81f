// A point in a stream at which the device records the time.
#pragma once

#include "nvidia/cudart.hpp"

namespace deepbench::cuda {

class Event {
 public:
  Event();
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  nvidia::cudaEvent_t get() const { return event_; }
  // During a capture the event becomes a node of the graph, so that each launch of the graph
  // records it.
  void record(nvidia::cudaStream_t stream, bool capturing = false) const;
  double elapsed_ns(const Event& begin) const;  // valid after both events have happened

 private:
  nvidia::cudaEvent_t event_ = nullptr;
};

}  // namespace deepbench::cuda
