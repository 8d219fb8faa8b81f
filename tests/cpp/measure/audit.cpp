// The audit of times: what lies is doubted, what is honest is believed, however noisy the machine.
#include "deepbench/measure/audit.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "deepbench/fill.h"

namespace deepbench {
namespace {

constexpr double kCallNs = 1000, kOverheadNs = 3000;

Samples samples_of(uint64_t batch, double per_call_ns = kCallNs) {
  Samples samples;
  samples.batch = batch;
  samples.per_call_ns = std::vector<double>(10, per_call_ns);
  samples.elapsed_ns = samples.watched_ns = 10 * per_call_ns * double(batch);
  return samples;
}

Batch batch_of(uint64_t count, double elapsed_ns, double watched_ns) {
  Batch batch;
  batch.count = count;
  batch.elapsed_ns = elapsed_ns;
  batch.watched_ns = watched_ns;
  return batch;
}

// Calls that take kCallNs by the device's clock and `host` times as long by the host's.
BatchTimer steady(double host = 1) {
  return [=](uint64_t count) {
    const double ns = kCallNs * double(count);
    return batch_of(count, kOverheadNs + ns, kOverheadNs + host * ns + 20e3);
  };
}

// An honest kernel on a machine whose other work makes nearly all batches longer, by up to 50
// times, and launching them by up to 10 times.
BatchTimer disturbed(uint64_t seed) {
  return [seed, number = uint64_t{0}](uint64_t count) mutable {
    const auto chance = [&](uint32_t stream) {
      return std::abs(double(deepbench_uniform(seed, stream, number)));
    };
    const double ns = (kOverheadNs + kCallNs * double(count)) * std::pow(50, chance(0));
    const double launch_ns = 20e3 * std::pow(10, chance(1));
    ++number;
    return batch_of(count, ns, ns + launch_ns);
  };
}

TEST_CASE("half of the calls take half of the time, or the count is doubted") {
  CHECK(doubt_about_count(steady(), samples_of(200), {}).empty());
  CHECK(doubt_about_count(steady(), samples_of(3, 80e3), {}).empty());
  const BatchTimer once = [](uint64_t count) { return batch_of(count, 2000, 2000); };
  CHECK(doubt_about_count(once, samples_of(1 << 20, 2000.0 / (1 << 20)), {}) ==
        "1048576 calls take 2 us and 524288 calls 2 us: not every call is made");
  // One call has no half.
  CHECK(doubt_about_count(once, samples_of(1, 2000), {}).empty());
  // In a short batch the launch may take most of the time, and so may a disturbance of half
  // batches.
  const BatchTimer launch = [](uint64_t count) {
    return batch_of(count, kOverheadNs + double(count), 0);
  };
  CHECK(doubt_about_count(launch, samples_of(2, 1500), {}).empty());
  const BatchTimer resonant = [odd = false](uint64_t count) mutable {
    odd = !odd;
    return batch_of(count, kCallNs * double(count) + (odd ? 4e6 : 0), 0);
  };
  CHECK(doubt_about_count(resonant, samples_of(200), {}).empty());
  MeasureOptions in_place;
  in_place.max_batch = 150;
  CHECK(doubt_about_count(once, samples_of(150, 2000.0 / 150), in_place).empty());
}

TEST_CASE("verified calls take as long as the others, or the others are doubted") {
  const BatchTimer slow = [](uint64_t count) { return batch_of(count, 5e3 * double(count), 0); };
  CHECK(doubt_about_reset(steady(), steady(), samples_of(200), {}).empty());
  CHECK(doubt_about_reset(steady(), slow, samples_of(200), {}) ==
        "a call takes 5 us after its outputs were poisoned and 1 us otherwise: the calls that "
        "are timed do less than those that are verified");
  // The first call of a batch, whose operands are in no cache, is seven times as long.
  const BatchTimer cooled = [](uint64_t count) {
    return batch_of(count, kCallNs * double(count + 6), 0);
  };
  CHECK(doubt_about_reset(steady(), cooled, samples_of(1), {}).empty());
  // Threads that poisoned the outputs keep the processors busy for 8 ms.
  const BatchTimer delayed = [](uint64_t count) {
    return batch_of(count, kCallNs * double(count) + 8e6, 0);
  };
  CHECK(doubt_about_reset(steady(), delayed, samples_of(200), {}).empty());
  // A batch of fewer calls cannot tell.
  MeasureOptions flushed;
  flushed.max_batch = 1;
  CHECK(doubt_about_reset(steady(), slow, samples_of(1), flushed).empty());
}

TEST_CASE("a clock that shows a part of the host's time is doubted; a fixed cost is not") {
  Samples samples = samples_of(200);
  CHECK_FALSE(is_clock_suspect(samples));
  samples.watched_ns = 2 * samples.elapsed_ns;
  CHECK(is_clock_suspect(samples));
  CHECK(doubt_about_clock(steady(), samples, {}).empty());
  CHECK(
      doubt_about_clock(steady(2), samples, {}) ==
      "100 calls take 100 us by the backend's clock and 200 us by the host's: the clock is wrong, "
      "or not all calls are timed");
  const BatchTimer decaying = [ns = 1e6](uint64_t count) mutable {
    ns *= 0.9;
    return batch_of(count, ns, 1e9 * double(count));
  };
  CHECK_FALSE(doubt_about_clock(decaying, samples, {}).empty());
  samples.launch = "isolated";
  CHECK(doubt_about_clock(steady(2), samples, {}).empty());
}

TEST_CASE("an honest kernel on a busy machine is believed") {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    CAPTURE(seed);
    CHECK(doubt_about_count(disturbed(seed), samples_of(200), {}).empty());
    CHECK(doubt_about_reset(disturbed(seed), disturbed(seed + 10000), samples_of(200), {}).empty());
    CHECK(doubt_about_clock(disturbed(seed), samples_of(200), {}).empty());
  }
}

}  // namespace
}  // namespace deepbench
