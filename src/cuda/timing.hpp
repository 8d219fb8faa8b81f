// Timing batches of calls on a device: the only place of the backend that reads a clock. A batch is
// captured in a graph with an event at either end; where that fails it goes to the stream.
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

// Gives one call of this copy to the stream.
using Enqueue = std::function<void(uint64_t copy)>;

// What is timed, and what goes with it where other devices take part. All but wait() is captured.
struct TimedCalls {
  Enqueue enqueue;
  std::function<void()> enqueue_start_barrier = [] {
  };  // before the first event: on, once all are here
  std::function<void()> enqueue_end_barrier = [] {
  };                                // before the last event: on, once all are done
  std::function<void()> wait = {};  // for all that was given to the stream; {}: synchronises
};

class CallTimer {
 public:
  CallTimer(Stream& stream, const plugin::CopyPlan& plan, TimedCalls calls);
  ~CallTimer();

  void time(const deepbench_request& request, deepbench_batch& batch);
  // From here on, to the stream alone.
  void forbid_capture() { can_capture_ = false; }
  uint64_t last_copy() const { return rotation_.last(); }

 private:
  using Span = std::pair<uint64_t, uint64_t>;  // the first copy, how many calls

  void perturb_scheduling();
  double time_span(Span span, bool capture);
  double time_with_markers();
  const Graph* graph_for(Span span);  // nullptr where capture fails
  void enqueue_span(Span span, bool capturing);
  void enqueue_calls(Span span);
  void wait() const;

  Stream& stream_;
  plugin::CopyPlan plan_;
  TimedCalls calls_;
  plugin::Rotation rotation_;
  Buffer flush_buffer_;
  Event begin_, end_;
  std::unique_ptr<ClockStamps> stamps_;     // none without NVRTC
  const Function* perturbation_ = nullptr;  // of plans that ask for it
  std::map<Span, std::unique_ptr<Graph>> graphs_;
  bool can_capture_ = true;
  uint32_t flags_ = 0;  // of the batch
};

// What one call takes of the device, as kernels are timed: over spans that are long enough, the
// median of three. Calls go round the plan's copies.
double time_calls(Stream& stream, const Enqueue& enqueue, const plugin::CopyPlan& plan = {});

}  // namespace deepbench::cuda
