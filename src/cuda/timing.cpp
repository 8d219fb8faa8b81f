// Times batches as graphs, on the stream, call by call, or with markers for profilers.
#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

#include "deepbench/backend/host_timer.hpp"
#include "device.hpp"
#include "profiler_region.hpp"
#include "sensors.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

using plugin::Clock;

// Longer batches are several graphs, each with its own span.
constexpr uint64_t kMaxGraphCalls = 4096;
constexpr size_t kMaxGraphs = 64;
constexpr double kSpanNs = 500e3, kMaxCalls = 1000;  // length of each sample of time_calls()
constexpr size_t kSamples = 3;
constexpr uint32_t kPerturbingBlocks = 16, kPerturbingThreads = 256;  // blocks per multiprocessor
// Querying NVML takes tens of microseconds.
constexpr std::chrono::milliseconds kThrottlePollInterval{5};

// The last flags of the device for temperature and power. They are read again after an interval,
// while the device works. While the device reports thermal throttling, they are read for every
// batch, because a repeated batch needs a new answer.
uint32_t recent_throttle_flags(int device) {
  static std::mutex mutex;
  static std::map<int, std::pair<Clock::time_point, uint32_t>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& [asked, flags] = known[device];
  const Clock::time_point now = Clock::now();
  if ((flags & DEEPBENCH_BATCH_THROTTLED) || now - asked >= kThrottlePollInterval) {
    flags = throttle_flags(device);
    asked = now;
  }
  return flags;
}

class FunctionCall final : public DeviceCall {
 public:
  explicit FunctionCall(const std::function<void(uint64_t copy)>& enqueue) : enqueue_(enqueue) {}
  void enqueue(uint64_t copy) override { enqueue_(copy); }

 private:
  const std::function<void(uint64_t copy)>& enqueue_;
};

std::unique_ptr<ClockStamps> try_make_clock_stamps(const Stream& stream) {
  try {
    return std::make_unique<ClockStamps>(stream);
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    return nullptr;
  }
}

}  // namespace

CallTimer::CallTimer(Stream& stream, const plugin::CopyPlan& plan)
    : stream_(stream),
      plan_(plan),
      rotation_(plan.copies),
      flush_buffer_(plan.flush_bytes),
      stamps_(try_make_clock_stamps(stream)),
      perturbation_(plan.schedule_sensitive
                        ? &function("perturb_scheduling", "perturb_scheduling", stream)
                        : nullptr) {}

CallTimer::~CallTimer() = default;

void CallTimer::time(DeviceCall& call, const deepbench_request& request, deepbench_batch& batch) {
  const plugin::HostTimer timer;
  if (request.count == 0) plugin::invalid("time_batch: the batch has no calls");
  const bool marked = (request.flags & DEEPBENCH_REQUEST_MARKERS) != 0;
  const bool isolated =
      request.launch == DEEPBENCH_LAUNCH_ISOLATED || plan_.regime == plugin::Regime::kFlush;
  can_capture_ = can_capture_ && call.can_be_captured();
  const bool capture = can_capture_ && !marked && request.launch != DEEPBENCH_LAUNCH_STREAM;
  const uint64_t most = marked || isolated ? 1 : kMaxGraphCalls;

  flags_ = 0;
  if (perturbation_ && (request.flags & DEEPBENCH_REQUEST_PERTURB)) perturb_scheduling();
  for (uint64_t made = 0; made < request.count;) {
    const Span span{rotation_.copy_after_calls(1), std::min(most, request.count - made)};
    batch.elapsed_ns += marked ? time_with_markers(call) : time_span(call, span, capture);
    rotation_.advance(span.second);
    made += span.second;
  }
  batch.count = request.count;
  batch.copies_touched = rotation_.touched(request.count);
  batch.launch = isolated || marked        ? DEEPBENCH_LAUNCH_ISOLATED
                 : capture && can_capture_ ? DEEPBENCH_LAUNCH_GRAPH
                                           : DEEPBENCH_LAUNCH_STREAM;
  batch.timer = "cuda_event";
  batch.clock_mhz = stamps_ && !marked ? stamps_->mhz() : 0;
  batch.flags = flags_;
  batch.host_ns = timer.elapsed_ns();
}

void CallTimer::perturb_scheduling() {
  LaunchShape shape;
  shape.grid_x = kPerturbingBlocks * uint32_t(device_facts(stream_.device()).multiprocessors);
  shape.block_x = kPerturbingThreads;
  perturbation_->launch(shape, stream_.get());
}

// Reads the sensors while the device works, which adds nothing to the time of the batch.
double CallTimer::time_span(DeviceCall& call, Span span, bool capture) {
  const Graph* graph = capture ? graph_for(call, span) : nullptr;
  if (graph)
    graph->launch(stream_.get());
  else
    enqueue_span(call, span, /*capturing=*/false);
  flags_ |= recent_throttle_flags(stream_.device());
  call.wait(stream_);
  return end_.elapsed_ns(begin_);
}

// Times one call, with nothing else on the device between the markers.
double CallTimer::time_with_markers(DeviceCall& call) {
  const Span span{rotation_.copy_after_calls(1), 1};
  if (plan_.flush_bytes)
    CUDA_CHECK(
        cudart().cudaMemsetAsync(flush_buffer_.data(), 0, flush_buffer_.bytes(), stream_.get()));
  call.enqueue_start_barrier();
  call.wait(stream_);
  {
    const ProfilerRegion region;
    begin_.record(stream_.get());
    enqueue_calls(call, span);
    call.enqueue_end_barrier();
    end_.record(stream_.get());
    call.wait(stream_);
  }
  return end_.elapsed_ns(begin_);
}

const Graph* CallTimer::graph_for(DeviceCall& call, Span span) {
  if (const auto at = graphs_.find(span); at != graphs_.end()) return at->second.get();
  if (graphs_.size() >= kMaxGraphs) graphs_.clear();
  try {
    auto graph = std::make_unique<Graph>(stream_.get(),
                                         [&] { enqueue_span(call, span, /*capturing=*/true); });
    return (graphs_[span] = std::move(graph)).get();
  } catch (const CaptureFailed&) {
    can_capture_ = false;
    return nullptr;
  }
}

void CallTimer::enqueue_span(DeviceCall& call, Span span, bool capturing) {
  const nvidia::cudaStream_t stream = stream_.get();
  if (plan_.flush_bytes)
    CUDA_CHECK(cudart().cudaMemsetAsync(flush_buffer_.data(), 0, flush_buffer_.bytes(), stream));
  if (stamps_) stamps_->begin(stream);
  call.enqueue_start_barrier();
  begin_.record(stream, capturing);
  enqueue_calls(call, span);
  call.enqueue_end_barrier();
  end_.record(stream, capturing);
  if (stamps_) stamps_->end(stream);
}

void CallTimer::enqueue_calls(DeviceCall& call, Span span) {
  for (uint64_t made = 0; made < span.second; ++made)
    call.enqueue((span.first + made) % plan_.copies);
}

std::vector<double> time_calls(Stream& stream, const std::function<void(uint64_t copy)>& enqueue) {
  CallTimer timer(stream, {});
  FunctionCall call(enqueue);
  const auto time = [&](uint64_t count) {
    const deepbench_request request = {sizeof request, count, DEEPBENCH_LAUNCH_BEST, 0};
    deepbench_batch batch = {};
    batch.struct_size = sizeof batch;
    timer.time(call, request, batch);
    return batch.elapsed_ns / double(count);
  };
  time(1);  // the first call loads the kernels
  const auto count = uint64_t(std::clamp(kSpanNs / time(1), 1.0, kMaxCalls));
  return plugin::sample_times_ns({kSamples, kSamples}, [&] { return time(count); });
}

}  // namespace deepbench::cuda
