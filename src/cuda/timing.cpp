// Batches as graphs, on the stream, one by one, or marked for profilers.
#include "timing.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>

#include "check.hpp"
#include "device.hpp"
#include "profiler_region.hpp"
#include "sensors.hpp"

namespace deepbench::cuda {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostGraphCalls = 4096;  // more are several graphs, each with its own span
constexpr size_t kMostGraphs = 64;
constexpr double kSpanNs = 500e3, kMostCalls = 1000;              // of time_calls
constexpr uint32_t kShuffledBlocks = 16, kShuffledThreads = 256;  // blocks a multiprocessor
constexpr std::chrono::milliseconds kThrottleEvery{5};  // asking NVML takes tens of microseconds

double elapsed_ns(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double, std::nano>(end - begin).count();
}

// What the device last said of heat and power; asked again now and then, while it works, and always
// while it says that heat slows it: a batch that is repeated for that must be judged anew.
uint32_t recent_throttle_flags(int device) {
  static std::mutex mutex;
  static std::map<int, std::pair<Clock::time_point, uint32_t>> known;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& [asked, flags] = known[device];
  const Clock::time_point now = Clock::now();
  if ((flags & DEEPBENCH_BATCH_THROTTLED) || now - asked >= kThrottleEvery) {
    flags = throttle_flags(device);
    asked = now;
  }
  return flags;
}

std::unique_ptr<ClockStamps> stamps_where_possible(const Stream& stream) {
  try {
    return std::make_unique<ClockStamps>(stream);
  } catch (const plugin::Error& error) {
    if (error.status() != DEEPBENCH_UNSUPPORTED) throw;
    return nullptr;
  }
}

}  // namespace

CallTimer::CallTimer(Stream& stream, const plugin::CopyPlan& plan, Calls calls)
    : stream_(stream),
      plan_(plan),
      calls_(std::move(calls)),
      rotation_(plan.copies),
      flushed_(plan.flush_bytes),
      stamps_(stamps_where_possible(stream)),
      shuffle_(plan.shuffles ? &function("shuffle", "end_anyhow", stream) : nullptr) {}

CallTimer::~CallTimer() = default;

void CallTimer::time(const deepbench_request& request, deepbench_batch& batch) {
  const Clock::time_point entered = Clock::now();
  if (request.count == 0) plugin::invalid("time_batch: a batch of no calls has no time");
  const bool marked = (request.flags & DEEPBENCH_REQUEST_MARKERS) != 0;
  const bool isolated =
      request.launch == DEEPBENCH_LAUNCH_ISOLATED || plan_.regime == plugin::Regime::kFlush;
  const bool capture = can_capture_ && !marked && request.launch != DEEPBENCH_LAUNCH_STREAM;
  const uint64_t most = marked || isolated ? 1 : kMostGraphCalls;

  flags_ = 0;
  if (shuffle_ && (request.flags & DEEPBENCH_REQUEST_SHUFFLE)) shuffle();
  for (uint64_t made = 0; made < request.count;) {
    const Span span{rotation_.ahead(1), std::min(most, request.count - made)};
    batch.elapsed_ns += marked ? time_marked() : time_span(span, capture);
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
  batch.host_ns = elapsed_ns(entered, Clock::now());
}

void CallTimer::shuffle() {
  Shape shape;
  shape.grid_x = kShuffledBlocks * uint32_t(device_facts(stream_.device()).multiprocessors);
  shape.block_x = kShuffledThreads;
  shuffle_->launch(shape, stream_.get());
}

// The sensors are asked while the device works, which takes no time of the batch.
double CallTimer::time_span(Span span, bool capture) {
  const Graph* graph = capture ? graph_of(span) : nullptr;
  if (graph)
    graph->launch(stream_.get());
  else
    enqueue_span(span, /*capturing=*/false);
  flags_ |= recent_throttle_flags(stream_.device());
  wait();
  return end_.elapsed_ns(begin_);
}

// One call, and nothing else on the device between the markers.
double CallTimer::time_marked() {
  const Span span{rotation_.ahead(1), 1};
  if (plan_.flush_bytes)
    CUDA_CHECK(cudart().cudaMemsetAsync(flushed_.data(), 0, flushed_.bytes(), stream_.get()));
  calls_.meet();
  wait();
  {
    const ProfilerRegion region;
    begin_.record(stream_.get());
    enqueue_calls(span);
    calls_.part();
    end_.record(stream_.get());
    wait();
  }
  return end_.elapsed_ns(begin_);
}

const Graph* CallTimer::graph_of(Span span) {
  if (const auto at = graphs_.find(span); at != graphs_.end()) return at->second.get();
  if (graphs_.size() >= kMostGraphs) graphs_.clear();
  try {
    auto graph =
        std::make_unique<Graph>(stream_.get(), [&] { enqueue_span(span, /*capturing=*/true); });
    return (graphs_[span] = std::move(graph)).get();
  } catch (const CaptureFailed&) {
    can_capture_ = false;
    return nullptr;
  }
}

void CallTimer::enqueue_span(Span span, bool capturing) {
  const nvidia::cudaStream_t stream = stream_.get();
  if (plan_.flush_bytes)
    CUDA_CHECK(cudart().cudaMemsetAsync(flushed_.data(), 0, flushed_.bytes(), stream));
  if (stamps_) stamps_->begin(stream);
  calls_.meet();
  begin_.record(stream, capturing);
  enqueue_calls(span);
  calls_.part();
  end_.record(stream, capturing);
  if (stamps_) stamps_->end(stream);
}

void CallTimer::enqueue_calls(Span span) {
  for (uint64_t call = 0; call < span.second; ++call)
    calls_.enqueue((span.first + call) % plan_.copies);
}

void CallTimer::wait() const {
  if (calls_.wait)
    calls_.wait();
  else
    stream_.synchronize();
}

double time_calls(Stream& stream, const Enqueue& enqueue, const plugin::CopyPlan& plan) {
  CallTimer timer(stream, plan, {enqueue});
  const auto time = [&timer](uint64_t count) {
    const deepbench_request request = {sizeof request, count, DEEPBENCH_LAUNCH_BEST, 0};
    deepbench_batch batch = {};
    batch.struct_size = sizeof batch;
    timer.time(request, batch);
    return batch.elapsed_ns / double(count);
  };
  time(1);  // kernels are loaded when they are first called
  const auto count = uint64_t(std::clamp(kSpanNs / time(1), 1.0, kMostCalls));
  std::array<double, 3> samples;
  for (double& sample : samples) sample = time(count);
  std::sort(samples.begin(), samples.end());
  return samples[1];
}

}  // namespace deepbench::cuda
