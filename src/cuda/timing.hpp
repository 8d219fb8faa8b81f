// Times batches of calls on a device. A batch is captured in a graph with an event at each end; if
// the capture fails, it is enqueued on the stream.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "buffer.hpp"
#include "clock_stamps.hpp"
#include "deepbench/backend/rotation.hpp"
#include "deepbench/plugin.hpp"
#include "device_call.hpp"
#include "event.hpp"
#include "graph.hpp"
#include "stream.hpp"

namespace deepbench::cuda {

class CallTimer {
 public:
  CallTimer(Stream& stream, const plugin::CopyPlan& plan);
  ~CallTimer();

  // Times a batch of calls. The graphs of earlier batches are launched again, so a timer takes the
  // same call every time. The start barrier precedes the first event and the end barrier the last.
  void time(DeviceCall& call, const deepbench_request& request, deepbench_batch& batch);
  uint64_t last_copy() const { return rotation_.last(); }

 private:
  using Span = std::pair<uint64_t, uint64_t>;  // the first copy, the number of calls

  void perturb_scheduling();
  double time_span(DeviceCall& call, Span span, bool capture);
  double time_with_markers(DeviceCall& call);
  const Graph* graph_for(DeviceCall& call, Span span);  // nullptr if the capture fails
  void enqueue_span(DeviceCall& call, Span span, bool capturing);
  void enqueue_calls(DeviceCall& call, Span span);

  Stream& stream_;
  plugin::CopyPlan plan_;
  plugin::Rotation rotation_;
  Buffer flush_buffer_;
  Event begin_, end_;
  std::unique_ptr<ClockStamps> stamps_;     // nullptr without NVRTC
  const Function* perturbation_ = nullptr;  // nullptr unless the plan is sensitive to the schedule
  std::map<Span, std::unique_ptr<Graph>> graphs_;
  bool can_capture_ = true;
  uint32_t flags_ = 0;  // of the current batch
};

// The times of one call on the device, measured like a kernel, from three spans that are long
// enough. `enqueue` enqueues one call on this copy of the operands.
std::vector<double> time_calls(Stream& stream, const std::function<void(uint64_t copy)>& enqueue);

}  // namespace deepbench::cuda
