// Times batches of calls on a device. A batch is captured in a graph with an event at each end; if
// the capture fails, it is enqueued on the stream.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "buffer.hpp"
#include "clock_stamps.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/plugin.hpp"
#include "event.hpp"
#include "graph.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

// Enqueues one call on this copy of the operands.
using Enqueue = std::function<void(uint64_t copy)>;

// The timed calls, and what accompanies them if other devices take part. All but wait() may be
// captured.
struct TimedCalls {
  Enqueue enqueue;
  // Precede the first and the last event: all devices have reached it, all have finished.
  std::function<void()> enqueue_start_barrier = [] {};
  std::function<void()> enqueue_end_barrier = [] {};
  std::function<void()> wait = {};  // for all enqueued work; {}: synchronises the stream
};

class CallTimer {
 public:
  CallTimer(Stream& stream, const plugin::CopyPlan& plan, TimedCalls calls);
  ~CallTimer();

  void time(const deepbench_request& request, deepbench_batch& batch);
  // Enqueues all later calls on the stream without a graph.
  void forbid_capture() { can_capture_ = false; }
  uint64_t last_copy() const { return rotation_.last(); }

 private:
  using Span = std::pair<uint64_t, uint64_t>;  // the first copy, the number of calls

  void perturb_scheduling();
  double time_span(Span span, bool capture);
  double time_with_markers();
  const Graph* graph_for(Span span);  // nullptr if the capture fails
  void enqueue_span(Span span, bool capturing);
  void enqueue_calls(Span span);
  void wait() const;

  Stream& stream_;
  plugin::CopyPlan plan_;
  TimedCalls calls_;
  plugin::Rotation rotation_;
  Buffer flush_buffer_;
  Event begin_, end_;
  std::unique_ptr<ClockStamps> stamps_;     // nullptr without NVRTC
  const Function* perturbation_ = nullptr;  // nullptr unless the plan asks for shuffling
  std::map<Span, std::unique_ptr<Graph>> graphs_;
  bool can_capture_ = true;
  uint32_t flags_ = 0;  // of the current batch
};

// The time of one call on the device, measured like a kernel: the median of three spans that are
// long enough.
double time_calls(Stream& stream, const Enqueue& enqueue);

}  // namespace deepbench::cuda
