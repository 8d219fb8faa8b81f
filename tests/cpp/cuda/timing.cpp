// Streams, buffers, graphs, and the timing of batches. No test here judges a duration.
#include "timing.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "device.hpp"
#include "gpu.hpp"
#include "kernels/jit.hpp"
#include "status_check.hpp"

namespace deepbench::cuda {
namespace {

constexpr const char* kCount = R"(
extern "C" __global__ void count(unsigned* calls) { atomicAdd(calls, 1u); }
)";

// Counts its calls, in one word for each copy.
class CountingCall final : public DeviceCall {
 public:
  explicit CountingCall(const plugin::CopyPlan& plan, bool refuses_capture = false)
      : stream_(Stream::of(0)),
        refuses_capture_(refuses_capture),
        words_(256, plan.copies),
        count_(function_from_text("count", kCount, "count", stream_)),
        timer_(stream_, plan) {
    for (uint64_t copy = 0; copy < plan.copies; ++copy)
      CUDA_CHECK(cudart().cudaMemsetAsync(words_.at(copy), 0, 256, stream_.get()));
  }

  void enqueue(uint64_t copy) override {
    if (refuses_capture_) stream_.synchronize();
    count_.launch({}, stream_.get(), static_cast<void*>(words_.at(copy)));
  }

  deepbench_batch time(uint64_t count, int32_t launch = DEEPBENCH_LAUNCH_BEST, uint32_t flags = 0) {
    const deepbench_request request = {sizeof(deepbench_request), count, launch, flags};
    deepbench_batch batch = {};
    batch.struct_size = sizeof batch;
    timer_.time(*this, request, batch);
    return batch;
  }

  uint32_t calls(uint64_t copy) {
    uint32_t calls = 0;
    CUDA_CHECK(cudart().cudaMemcpyAsync(&calls, words_.at(copy), sizeof calls,
                                        nvidia::cudaMemcpyDeviceToHost, stream_.get()));
    stream_.synchronize();
    return calls;
  }
  uint64_t last_copy() const { return timer_.last_copy(); }

 private:
  Stream& stream_;
  const bool refuses_capture_;
  Copies words_;
  const Function& count_;
  CallTimer timer_;
};

void check_batch(const deepbench_batch& batch, uint64_t count, int32_t launch) {
  REQUIRE(batch.count == count);
  REQUIRE(batch.launch == launch);
  REQUIRE(std::isfinite(batch.elapsed_ns));
  REQUIRE(batch.elapsed_ns > 0);
  REQUIRE(batch.host_ns > 0);
  REQUIRE(std::string(batch.timer) == "cuda_event");
}

TEST_CASE("gpu: a batch makes the requested number of calls, batch after batch") {
  REQUIRE_GPU();
  CountingCall counter({});
  uint32_t expected = 0;
  for (const uint64_t count : {1u, 1u, 7u, 100u, 7u, 5000u}) {
    const deepbench_batch batch = counter.time(count);
    check_batch(batch, count, DEEPBENCH_LAUNCH_GRAPH);
    REQUIRE(batch.copies_touched == 1);
    expected += uint32_t(count);
    REQUIRE(counter.calls(0) == expected);
  }
}

TEST_CASE("gpu: calls rotate through the copies across batches") {
  REQUIRE_GPU();
  CountingCall counter({plugin::Regime::kRotation, 3, 0});
  CHECK(counter.time(2).copies_touched == 2);
  CHECK(counter.last_copy() == 1);
  CHECK(counter.time(2).copies_touched == 2);
  CHECK(counter.last_copy() == 0);
  CHECK(counter.time(5).copies_touched == 3);
  CHECK(counter.last_copy() == 2);
  for (uint64_t copy = 0; copy < 3; ++copy) CHECK(counter.calls(copy) == 3);
}

TEST_CASE(
    "gpu: calls that cannot be captured are enqueued on the stream, and the batch reports it") {
  REQUIRE_GPU();
  CountingCall counter({}, /*refuses_capture=*/true);
  for (int i = 0; i < 2; ++i) check_batch(counter.time(10), 10, DEEPBENCH_LAUNCH_STREAM);
  CHECK(counter.calls(0) == 20);
}

TEST_CASE("gpu: the launch mode can be requested") {
  REQUIRE_GPU();
  CountingCall counter({});
  check_batch(counter.time(10, DEEPBENCH_LAUNCH_STREAM), 10, DEEPBENCH_LAUNCH_STREAM);
  check_batch(counter.time(10, DEEPBENCH_LAUNCH_ISOLATED), 10, DEEPBENCH_LAUNCH_ISOLATED);
  check_batch(counter.time(10, DEEPBENCH_LAUNCH_GRAPH), 10, DEEPBENCH_LAUNCH_GRAPH);
  CHECK(counter.calls(0) == 30);
}

constexpr const char* kAppend = R"(
extern "C" __global__ void append(unsigned* digits, unsigned digit) { *digits = *digits * 10 + digit; }
)";

// Appends 2 to the digits of a word; its barriers append 1 and 3.
class AppendingCall final : public DeviceCall {
 public:
  AppendingCall(const Stream& stream, void* word)
      : stream_(stream),
        word_(word),
        append_(function_from_text("append", kAppend, "append", stream)) {}

  void enqueue(uint64_t) override { append(2); }
  void enqueue_start_barrier() override { append(1); }
  void enqueue_end_barrier() override { append(3); }
  void wait(const Stream& stream) override { ++waited, stream.synchronize(); }
  bool can_be_captured() const override { return captured; }

  int waited = 0;
  bool captured = true;

 private:
  void append(uint32_t digit) { append_.launch({}, stream_.get(), word_, digit); }

  const Stream& stream_;
  void* const word_;
  const Function& append_;
};

TEST_CASE("gpu: barriers surround the timed calls, and the call's wait function is used") {
  REQUIRE_GPU();
  Stream& stream = Stream::of(0);
  const Buffer word(256);
  AppendingCall call(stream, word.data());
  CallTimer timer(stream, {});
  for (const int32_t launch : {DEEPBENCH_LAUNCH_GRAPH, DEEPBENCH_LAUNCH_STREAM}) {
    CUDA_CHECK(cudart().cudaMemsetAsync(word.data(), 0, word.bytes(), stream.get()));
    const deepbench_request request = {sizeof(deepbench_request), 2, launch, 0};
    deepbench_batch batch = {};
    batch.struct_size = sizeof batch;
    call.waited = 0;
    timer.time(call, request, batch);
    check_batch(batch, 2, launch);
    CHECK(call.waited == 1);
    uint32_t digits = 0;
    CUDA_CHECK(cudart().cudaMemcpyAsync(&digits, word.data(), sizeof digits,
                                        nvidia::cudaMemcpyDeviceToHost, stream.get()));
    stream.synchronize();
    CHECK(digits == 1223);
  }
  call.captured = false;
  const deepbench_request request = {sizeof(deepbench_request), 3, DEEPBENCH_LAUNCH_GRAPH, 0};
  deepbench_batch batch = {};
  batch.struct_size = sizeof batch;
  timer.time(call, request, batch);
  check_batch(batch, 3, DEEPBENCH_LAUNCH_STREAM);
}

TEST_CASE("gpu: the cache is flushed before each call") {
  REQUIRE_GPU();
  CountingCall counter({plugin::Regime::kFlush, 1, uint64_t{1} << 26});
  check_batch(counter.time(3), 3, DEEPBENCH_LAUNCH_ISOLATED);
  CHECK(counter.calls(0) == 3);
}

TEST_CASE("gpu: a batch with a perturbed schedule makes exactly its calls") {
  REQUIRE_GPU();
  plugin::CopyPlan plan;
  plan.schedule_sensitive = true;
  CountingCall counter(plan);
  uint32_t expected = 0;
  for (const int32_t launch : {DEEPBENCH_LAUNCH_GRAPH, DEEPBENCH_LAUNCH_STREAM}) {
    for (const uint32_t flags : {uint32_t(DEEPBENCH_REQUEST_PERTURB), 0u}) {
      check_batch(counter.time(5, launch, flags), 5, launch);
      CHECK(counter.calls(0) == (expected += 5));
    }
  }
  CountingCall plain({});  // its plan is not sensitive to the schedule
  check_batch(plain.time(5, DEEPBENCH_LAUNCH_GRAPH, DEEPBENCH_REQUEST_PERTURB), 5,
              DEEPBENCH_LAUNCH_GRAPH);
}

TEST_CASE("gpu: a marked call is made once") {
  REQUIRE_GPU();
  CountingCall counter({});
  const deepbench_batch batch = counter.time(1, DEEPBENCH_LAUNCH_BEST, DEEPBENCH_REQUEST_MARKERS);
  check_batch(batch, 1, DEEPBENCH_LAUNCH_ISOLATED);
  CHECK(counter.calls(0) == 1);
}

TEST_CASE("gpu: a batch reports the clock of the multiprocessors") {
  REQUIRE_GPU();
  CountingCall counter({});
  const double mhz = counter.time(200).clock_mhz;
  CHECK(mhz > 50);
  CHECK(mhz < 10000);
}

TEST_CASE("gpu: a batch without calls is refused") {
  REQUIRE_GPU();
  CountingCall counter({});
  CHECK_THROWS_AS(counter.time(0), plugin::Error);
}

TEST_CASE("gpu: too large a buffer is out of memory, and later batches still run") {
  REQUIRE_GPU();
  Stream::of(0);
  deepbench_status status = DEEPBENCH_OK;
  try {
    const Buffer huge(uint64_t{1} << 50);
  } catch (const plugin::Error& error) {
    status = error.status();
  }
  CHECK(status == DEEPBENCH_OUT_OF_MEMORY);
  CountingCall counter({});
  CHECK(counter.time(3).count == 3);
}

TEST_CASE("gpu: freed buffers are available memory") {
  REQUIRE_GPU();
  constexpr uint64_t kSize = uint64_t{1} << 30, kOthers = uint64_t{1} << 26;
  const uint64_t before = memory_available(0);
  for (int turn = 0; turn < 2; ++turn) {  // the second turn finds its memory in the pool
    {
      const Buffer held(kSize);
      CHECK(memory_available(0) <= before - kSize + kOthers);
    }
    CHECK(memory_available(0) >= before - kOthers);
  }
}

}  // namespace
}  // namespace deepbench::cuda
