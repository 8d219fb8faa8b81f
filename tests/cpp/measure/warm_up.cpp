// Tests the warm-up: batch sizes, settling and caps.
#include "deepbench/measure/warm_up.hpp"

#include <doctest/doctest.h>

namespace deepbench {
namespace {

// A batch of the size that the warm-up requests, whose calls take `per_call_ns`.
Batch batch_of(const WarmUp& warm, double per_call_ns, double mhz = 0) {
  Batch batch;
  batch.count = warm.batch_size();
  batch.elapsed_ns = per_call_ns * double(batch.count);
  batch.host_ns = batch.elapsed_ns;
  batch.clock_mhz = mhz;
  return batch;
}

// Adds batches until the warm-up is done, at most 10,000, and returns their number.
int count_batches_until_done(WarmUp& warm, double per_call_ns) {
  int batches = 0;
  for (; !warm.done() && batches < 10000; ++batches) warm.add(batch_of(warm, per_call_ns));
  return batches;
}

TEST_CASE("a batch is the fewest calls that take the minimum time") {
  const MeasureOptions options;
  CHECK(WarmUp(options, 1000).batch_size() == 200);
  CHECK(WarmUp(options, 999).batch_size() == 201);
  CHECK(WarmUp(options, 200e3).batch_size() == 1);
  CHECK(WarmUp(options, 199999).batch_size() == 2);
  CHECK(WarmUp(options, 5e6).batch_size() == 1);
  CHECK(WarmUp(options, 0.001).batch_size() == 1 << 20);
  MeasureOptions small;
  small.max_batch = 16;
  CHECK(WarmUp(small, 1000).batch_size() == 16);
}

TEST_CASE("a batch is a whole number of rotations if rotations are short") {
  MeasureOptions options;
  options.rotation = 64;
  CHECK(WarmUp(options, 1000).batch_size() == 256);
  CHECK(WarmUp(options, 3125).batch_size() == 64);
  CHECK(WarmUp(options, 50e3).batch_size() == 64);  // 3.2 ms, sixteen times the minimum
  CHECK(WarmUp(options, 50001).batch_size() == 4);  // a rotation would take longer
  CHECK(WarmUp(options, 200e3).batch_size() == 1);
  options.max_batch = 16;
  CHECK(WarmUp(options, 1000).batch_size() == 16);
}

TEST_CASE("a batch becomes whole rotations once calls are known to be so short") {
  MeasureOptions options;
  options.rotation = 64;
  options.min_batch = 20;
  WarmUp warm_up(options, 60e3);
  CHECK(warm_up.batch_size() == 20);
  warm_up.add(batch_of(warm_up, 30e3));
  CHECK(warm_up.batch_size() == 64);
  CHECK(warm_up.short_batch_size() == 20);
  CHECK_FALSE(warm_up.done());
  warm_up.add(batch_of(warm_up, 30e3));
  CHECK(warm_up.batch_size() == 64);
  CHECK(warm_up.short_batch_size() == 20);
}

TEST_CASE("a batch has at least the minimum number of calls, within a share of the time limit") {
  MeasureOptions options;
  options.min_batch = 20;
  CHECK(WarmUp(options, 50e3).batch_size() == 20);
  CHECK(WarmUp(options, 10e6).batch_size() == 20);  // 200 ms of 10 s
  CHECK(WarmUp(options, 10.1e6).batch_size() == 1);
  options.min_short_batch = 200;
  CHECK(WarmUp(options, 500).batch_size() == 400);  // 200 us
  CHECK(WarmUp(options, 50e3).batch_size() == 200);
  CHECK(WarmUp(options, 99.9e3).batch_size() == 200);
  CHECK(WarmUp(options, 100e3).batch_size() == 20);
  options.time_limit_ns = 0.5e9;
  CHECK(WarmUp(options, 50e3).batch_size() == 200);
  // 200 calls would take 10.2 ms, above 2 % of the limit
  CHECK(WarmUp(options, 51e3).batch_size() == 20);
}

TEST_CASE(
    "calls that turn out to be short get a larger batch, and the smaller one does not count") {
  MeasureOptions options;
  options.min_batch = 20, options.min_short_batch = 200;
  WarmUp warm(options, 150e3);
  CHECK(warm.batch_size() == 20);
  warm.add(batch_of(warm, 50e3));  // 1 ms, which is long enough
  CHECK(warm.batch_size() == 200);
  CHECK(count_batches_until_done(warm, 50e3) == 10);  // 100 ms
  CHECK(warm.batch_size() == 200);
}

TEST_CASE("constant calls settle after two windows of ten") {
  WarmUp warm(MeasureOptions{}, 1000);
  CHECK(count_batches_until_done(warm, 1000) == 20);
  CHECK(warm.batch_size() == 200);
}

TEST_CASE("visits divide the windows, which have at least two batches") {
  MeasureOptions options;
  options.visits = 3;
  WarmUp shorter(options, 1000), longer(options, 5e6);
  CHECK(count_batches_until_done(shorter, 1000) == 8);
  CHECK(count_batches_until_done(longer, 5e6) == 4);
}

TEST_CASE("calls of five milliseconds settle after two windows of five") {
  WarmUp shorter(MeasureOptions{}, 4.9e6), longer(MeasureOptions{}, 5e6);
  CHECK(count_batches_until_done(shorter, 4.9e6) == 20);
  CHECK(count_batches_until_done(longer, 5e6) == 10);
}

TEST_CASE("calls after rests settle after two windows of five") {
  WarmUp warm({}, 1e6);
  int batches = 0;
  for (; !warm.done() && batches < 100; ++batches) {
    Batch batch = batch_of(warm, 1e6);
    batch.rested_ns = 500e3;
    warm.add(batch);
  }
  CHECK(batches == 10);
}

TEST_CASE("rests count towards the cap") {
  WarmUp warm({}, 0.5e6);
  int batches = 0;
  for (; !warm.done() && batches < 1000; ++batches) {
    Batch batch = batch_of(warm, batches % 2 ? 0.5e6 : 0.9e6);  // never settles
    batch.rested_ns = 4e6;
    warm.add(batch);
  }
  CHECK(batches == 22);  // batches of 4.5 and 4.9 ms
}

TEST_CASE("calls have settled when two windows differ by less than 1 %") {
  for (const auto& [later, batches] : {std::pair(1009.9, 20), std::pair(1010.1, 25)}) {
    WarmUp warm(MeasureOptions{}, 1000);
    int made = 0;
    for (; !warm.done(); ++made) warm.add(batch_of(warm, made < 10 ? 1000 : later));
    // A larger step stops mattering when half of the earlier window lies behind it, five batches
    // later.
    CHECK(made == batches);
  }
}

TEST_CASE("a batch that turns out to be too short is resized and does not count") {
  WarmUp warm(MeasureOptions{}, 1000);
  warm.add(batch_of(warm, 500));    // 100 us instead of 200
  CHECK(warm.batch_size() == 422);  // 200 us / (0.95 * 500 ns)
  CHECK(count_batches_until_done(warm, 500) == 20);
  CHECK(warm.batch_size() == 422);
}

TEST_CASE("the largest batch counts even if it is too short") {
  MeasureOptions options;
  options.max_batch = 8;
  WarmUp warm(options, 100);
  CHECK(count_batches_until_done(warm, 100) == 20);
  CHECK(warm.batch_size() == 8);
}

// Calls that never settle: each ten batches are 2 % slower than the ten preceding them.
int count_batches_of_rising_times(WarmUp& warm, double per_call_ns, double host_ns) {
  int batches = 0;
  for (; !warm.done() && batches < 10000; ++batches) {
    Batch batch = batch_of(warm, per_call_ns * (1 + 0.002 * batches));
    batch.host_ns = host_ns;
    warm.add(batch);
  }
  return batches;
}

TEST_CASE("warm-up is capped at 100 ms below 1 ms calls, at 1 s above, at 0 for long calls") {
  WarmUp quick(MeasureOptions{}, 1000);
  CHECK(count_batches_of_rising_times(quick, 1000, 5e6) == 20);
  WarmUp slow(MeasureOptions{}, 1e6);
  CHECK(count_batches_of_rising_times(slow, 1e6, 50e6) == 20);
  WarmUp slower(MeasureOptions{}, 99e6);
  CHECK(count_batches_of_rising_times(slower, 90e6, 100e6) == 10);
  CHECK(WarmUp(MeasureOptions{}, 100e6).done());
  CHECK_FALSE(WarmUp(MeasureOptions{}, 99e6).done());
}

TEST_CASE("a sustained load lasts its time, whatever the calls take") {
  MeasureOptions options;
  options.min_load_ns = 1e9;
  WarmUp slow(options, 2e6);
  CHECK(count_batches_until_done(slow, 2e6) == 500);
  WarmUp quick(options, 1000);
  CHECK(count_batches_until_done(quick, 1000) == 5000);
  WarmUp very_slow(options, 500e6);
  CHECK(count_batches_until_done(very_slow, 500e6) == 2);
}

TEST_CASE("the clocks of the last ten batches are available if the device reports them") {
  WarmUp warm(MeasureOptions{}, 1000);
  CHECK(warm.last_clocks_mhz().empty());
  warm.add(batch_of(warm, 1000, 0));
  CHECK(warm.last_clocks_mhz().empty());
  for (int i = 0; i < 10; ++i) warm.add(batch_of(warm, 1000, 900));
  CHECK(warm.last_clocks_mhz() == std::vector<double>(10, 900));
  warm.add(batch_of(warm, 1000, 1500));
  CHECK(warm.last_clocks_mhz().size() == 10);
  CHECK(warm.last_clocks_mhz().back() == 1500);
}

}  // namespace
}  // namespace deepbench
