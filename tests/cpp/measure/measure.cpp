// Tests the measuring loop on scripted clocks through the plugin interface, with exact numbers for
// every branch.
#include "deepbench/measure/measure.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "../fake_backend.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/measure/statistics.hpp"

namespace deepbench {
namespace {

using doctest::Approx;
using testing::concatenate;
using testing::repeat_pattern;
using testing::scripted_clock;
using testing::time_script_line;

Samples run(const std::string& script, const MeasureOptions& options = {}) {
  return measure(scripted_clock(script), options);
}

TEST_CASE("a constant clock runs every step of the loop once") {
  const Samples samples = run("time 50000 1000 hold");
  CHECK(samples.first_call_ns == 50000);
  CHECK(samples.batch == 200);  // 200 us
  CHECK(samples.per_call_ns == std::vector<double>(100, 1000));
  CHECK(samples.stop == StopReason::kConverged);
  CHECK(samples.error == 1.0 / (1000 * 200));  // the timer's resolution divided by the batch
  CHECK(samples.spent_ns == 50000 + 1000 + 20 * 200e3 + 100 * 200e3);
  CHECK(samples.host_per_call_ns == 1000);
  CHECK(samples.clock_mhz == 0);
  CHECK(samples.throttled == 0);
  CHECK(samples.retries == 0);
  CHECK(samples.launch == "stream");
  CHECK(samples.timer == "scripted");
}

TEST_CASE("warm-up continues until the calls have settled") {
  // Ten batches at 2000, ten at 1500, then 1000: settled when six of the earlier window are at 1000
  // too.
  const Samples samples = run("time 1000*2 2000*10 1500*10 1000 hold");
  CHECK(samples.per_call_ns == std::vector<double>(100, 1000));
  CHECK(samples.spent_ns == 2 * 1000 + 10 * 400e3 + 10 * 300e3 + 16 * 200e3 + 100 * 200e3);
}

TEST_CASE("warm-up is capped at 100 ms of host time for short calls") {
  // Every batch costs 10 ms of host time, and each is 1 % slower than the one before.
  std::vector<double> rising = {1000, 1000};
  for (int i = 0; i < 10; ++i) rising.push_back(1000 + 10 * i);
  const Samples samples =
      run(time_script_line(concatenate(rising, repeat_pattern({2000}, 1))) + "host 9800000");
  CHECK(samples.per_call_ns == std::vector<double>(50, 2000));  // 400 us per batch
  const double warm_up_ns = 9.8e6 * 10 + 200 * (10 * 1000 + 10 * 45);
  CHECK(samples.spent_ns == 2 * (9.8e6 + 1000) + warm_up_ns + 50 * (9.8e6 + 400e3));
  CHECK(samples.host_per_call_ns == (9.8e6 + 400e3) / 200);
}

TEST_CASE("batches grow when calls are shorter than the second call") {
  const Samples samples = run("time 1000 1000 500 hold");
  CHECK(samples.batch == 422);                                 // 200 us / (0.95 * 500 ns)
  CHECK(samples.per_call_ns == std::vector<double>(95, 500));  // 95 * 211 us
  CHECK(samples.spent_ns == 2000 + 100e3 + 20 * 211e3 + 95 * 211e3);
}

TEST_CASE("the shortest calls get the largest batch") {
  const Samples samples = run("time 0.125 hold");
  CHECK(samples.batch == 1 << 20);
  CHECK(samples.error == 1 / (0.125 * (1 << 20)));
  // 131 us per batch: 20 ms are reached at sample 153; the rule checks next at sample 158.
  CHECK(samples.per_call_ns == std::vector<double>(158, 0.125));
}

TEST_CASE("a sustained load precedes the samples") {
  MeasureOptions options;
  options.min_load_ns = 3e9;
  const Samples slow = run("time 2000000 hold", options);
  CHECK(slow.spent_ns == 2 * 2e6 + 3e9 + 10 * 2e6);
  const Samples quick = run("time 1000 hold", options);
  CHECK(quick.spent_ns == 2 * 1000 + 3e9 + 100 * 200e3);
  // This holds for long calls too; neither of the first two calls is then a sample.
  const Samples longer = run("time 250000000 hold", options);
  CHECK(longer.spent_ns == 250e6 * (2 + 12 + 5));
}

TEST_CASE("calls of 100 to 200 ms take a first call, one warm-up call and five samples") {
  const Samples samples = run("time 160e6 150e6 140e6 hold");
  CHECK(samples.first_call_ns == 160e6);
  CHECK(samples.per_call_ns == std::vector<double>(5, 140e6));
  CHECK(samples.spent_ns == 160e6 + 150e6 + 5 * 140e6);
  CHECK(samples.batch == 1);
}

TEST_CASE("the first of calls above 200 ms is the warm-up") {
  const Samples five = run("time 310e6 300e6 hold");
  CHECK(five.first_call_ns == 310e6);
  CHECK(five.per_call_ns == std::vector<double>(5, 300e6));
  CHECK(five.spent_ns == 310e6 + 5 * 300e6);
  const Samples three = run("time 1500e6 hold");
  CHECK(three.per_call_ns == std::vector<double>(3, 1.5e9));
  CHECK(three.spent_ns == 4 * 1.5e9);
}

TEST_CASE("a single long first call does not make the calls long") {
  const Samples samples = run("time 500e6 1000 hold");
  CHECK(samples.first_call_ns == 500e6);
  CHECK(samples.batch == 200);
  CHECK(samples.per_call_ns == std::vector<double>(100, 1000));
}

TEST_CASE("a call beyond the time limit is one sample") {
  const Samples samples = run("time 12e9 hold");
  CHECK(samples.per_call_ns == std::vector<double>(1, 12e9));
  CHECK(samples.stop == StopReason::kTooFew);
  CHECK(samples.error == std::numeric_limits<double>::infinity());
  CHECK(samples.spent_ns == 24e9);
}

TEST_CASE("warm-up ends at the time limit") {
  MeasureOptions options;
  options.time_limit_ns = 10e6;
  const Samples samples = run("time 2e6*2 2.1e6 2.2e6 2.3e6 2.4e6 hold", options);
  CHECK(samples.per_call_ns == std::vector<double>(1, 2.4e6));  // 4 + 2.1 + 2.2 + 2.3 ms
  CHECK(samples.spent_ns == 13e6);
  options.time_limit_ns = 1e6;  // exceeded by the first call
  CHECK(run("time 2e6", options).spent_ns == 4e6);
  CHECK(samples.stop == StopReason::kTooFew);
}

TEST_CASE("noise that averages out converges") {
  // Computed with numpy from the generator's values and the rules of docs/explanation/measuring.md.
  const Samples quick = run("time 1000; noise 7 0.02");
  CHECK(quick.first_call_ns == Approx(995.5931890010834).epsilon(1e-12));
  CHECK(quick.batch == 204);
  CHECK(quick.per_call_ns.size() == 98);
  CHECK(quick.stop == StopReason::kConverged);
  CHECK(quick.error == Approx(0.0017818495811269355).epsilon(1e-12));
  CHECK(median(quick.per_call_ns) == Approx(1001.1981546878815).epsilon(1e-12));
  CHECK(quick.spent_ns == Approx(24314213.723931313).epsilon(1e-12));

  const Samples slow = run("time 2e6; noise 7 0.2");
  CHECK(slow.per_call_ns.size() == 1421);
  CHECK(slow.error == Approx(0.004906660693235648).epsilon(1e-12));
  CHECK(slow.stop == StopReason::kConverged);
}

TEST_CASE("correlated noise is judged by block means") {
  const Samples samples = run("time 2e6; correlated 4 0.02 0.7");
  CHECK(lag1_autocorrelation(samples.per_call_ns) == Approx(0.5592375271564733).epsilon(1e-12));
  CHECK(samples.per_call_ns.size() == 32);
  CHECK(samples.error == Approx(0.0039371216071654325).epsilon(1e-12));
  CHECK(samples.stop == StopReason::kConverged);
}

TEST_CASE("noise that does not average out is noisy") {
  const Samples samples = run("time 2e6; correlated 5 0.05 0.95");
  CHECK(samples.stop == StopReason::kNoisy);
  CHECK(samples.per_call_ns.size() == 80);
  CHECK(samples.error == Approx(0.016316558985787925).epsilon(1e-12));
}

TEST_CASE("noise whose error stays unknown over a doubling is noisy") {
  // Neither 20 nor 40 samples divide into ten or more uncorrelated blocks.
  const Samples samples = run("time 2e6; correlated 1 0.01 0.8");
  CHECK(samples.stop == StopReason::kNoisy);
  CHECK(samples.per_call_ns.size() == 40);
  CHECK(samples.error == std::numeric_limits<double>::infinity());
}

TEST_CASE("a noisy row ends at the time limit") {
  MeasureOptions options;
  options.time_limit_ns = 100e6;
  const Samples enough = run("time 2e6; noise 1 0.3", options);
  CHECK(enough.stop == StopReason::kTimeLimit);
  CHECK(enough.per_call_ns.size() == 17);
  CHECK(enough.error == Approx(0.050827530385740005).epsilon(1e-12));
  const Samples few = run("time 2e6; noise 9 0.3", options);
  CHECK(few.stop == StopReason::kTooFew);
  CHECK(few.per_call_ns.size() == 9);
}

TEST_CASE("an exact number of samples is taken") {
  MeasureOptions options;
  options.exact_samples = 7;
  CHECK(run("time 1000 hold", options).per_call_ns == std::vector<double>(7, 1000));
  CHECK(run("time 300e6 hold", options).per_call_ns == std::vector<double>(7, 300e6));
  CHECK(run("time 2e6; noise 1 0.3", options).stop == StopReason::kTooFew);
}

TEST_CASE("a throttled batch is retried up to three times") {
  // Two calls, twenty warm-up batches, then samples. After two slow clocks the third attempt is
  // accepted.
  const Samples twice = run("time 2e6; mhz 1500*22 1349*2 1500 hold");
  CHECK(twice.per_call_ns.size() == 10);
  CHECK(twice.retries == 2);
  CHECK(twice.throttled == 0);
  CHECK(twice.clock_mhz == 1500);
  CHECK(twice.clocks_mhz == std::vector<double>(10, 1500));  // those of accepted batches
  CHECK(twice.stop == StopReason::kConverged);
  CHECK(twice.spent_ns == 2e6 * (2 + 20 + 2 + 10));
  // Nine tenths of the settled clock are not throttled.
  CHECK(run("time 2e6; mhz 1500*22 1350 hold").retries == 0);
  // After four slow clocks the fourth batch is accepted and marked.
  const Samples marked = run("time 2e6; mhz 1500*22 1349*4 1500 hold");
  CHECK(marked.retries == 3);
  CHECK(marked.throttled == 1);
  CHECK(marked.stop == StopReason::kConverged);  // one of ten does not exceed a tenth
}

TEST_CASE("the settled clock is that of the row itself") {
  // Compared with the initial 1500 MHz, 1200 MHz is slow, but the row has settled at 1200.
  const Samples samples = run("time 2e6; mhz 1500*10 1200 hold");
  CHECK(samples.retries == 0);
  CHECK(samples.clock_mhz == 1200);
  // The settled clock follows the last ten batches: after six batches at 1400, 1300 MHz is not
  // slow.
  CHECK(run("time 2e6; mhz 1500*22 1400*6 1300 hold").retries == 0);
  CHECK(run("time 2e6; mhz 1500*22 1300*1 1500 hold").retries == 1);
  // Without a clock no batch is throttled.
  CHECK(run("time 2e6; mhz 1500*22 0 hold").retries == 0);
}

TEST_CASE("a clock that a software power cap lowers is a label, not a fault") {
  const Samples samples = run("time 2e6; mhz 1500*22 1000 hold; flags 0*22 2 hold");
  CHECK(samples.retries == 0);
  CHECK(samples.throttled == 0);
  CHECK(samples.power_capped == 10);
}

TEST_CASE("a row that stays throttled ends as throttled") {
  const Samples samples = run("time 2e6; flags 0*22 1 hold");
  CHECK(samples.per_call_ns.size() == 10);
  CHECK(samples.retries == 30);
  CHECK(samples.throttled == 10);
  CHECK(samples.stop == StopReason::kThrottled);
  // A software power cap is a label, not a fault.
  CHECK(run("time 2e6; flags 2").retries == 0);
}

// Batches of 2 ms a call whose threads waited for so long, one after the other; the last number
// holds.
BatchTimer waiting_clock(const std::vector<double>& waits_ns) {
  return [waits_ns, made = size_t{0}](uint64_t count) mutable {
    Batch batch;
    batch.count = count, batch.elapsed_ns = batch.host_ns = 2e6 * double(count);
    batch.waited_ns = waits_ns[std::min(made++, waits_ns.size() - 1)];
    return batch;
  };
}

TEST_CASE("a batch is repeated if a thread waited for a processor, and the wait is stated") {
  const size_t before = 2 + 20;  // first calls and warm-up, whose waits do not count
  std::vector<double> waits_ns(before, 1e6);
  const Samples alone = measure(waiting_clock(concatenate(waits_ns, std::vector{0.0})), {});
  CHECK(alone.retries == 0);
  REQUIRE(alone.waited_share);
  CHECK(*alone.waited_share == 0);
  const Samples once = measure(waiting_clock(concatenate(waits_ns, std::vector{1e6, 0.0})), {});
  CHECK(once.retries == 1);
  CHECK(once.per_call_ns.size() == 10);
  REQUIRE(once.waited_share);
  CHECK(*once.waited_share == Approx(1e6 / (11 * 2e6)));
  // A fiftieth of the batch, or a tenth of a millisecond, is no disturbance.
  CHECK(measure(waiting_clock({99e3}), {}).waited_share == 0);
  CHECK_FALSE(run("time 2e6").waited_share);
}

TEST_CASE("the wait of a long second call counts, since the call is a sample") {
  const auto long_calls = [](double wait_of_second_ns) {
    return [=, made = 0](uint64_t count) mutable {
      Batch batch;
      batch.count = count, batch.elapsed_ns = batch.host_ns = 300e6 * double(count);
      batch.waited_ns = made++ == 1 ? wait_of_second_ns : 0.0;
      return batch;
    };
  };
  const Samples disturbed = measure(long_calls(150e6), {});
  REQUIRE(disturbed.waited_share);
  CHECK(*disturbed.waited_share == Approx(150e6 / (300e6 * double(disturbed.per_call_ns.size()))));
  const Samples alone = measure(long_calls(0), {});
  REQUIRE(alone.waited_share);
  CHECK(*alone.waited_share == 0);
  MeasureOptions only_one;
  only_one.exact_samples = 1;
  const Samples single = measure(long_calls(150e6), only_one);
  CHECK(single.per_call_ns.size() == 1);
  REQUIRE(single.waited_share);
  CHECK(*single.waited_share == Approx(0.5));
}

TEST_CASE("a neighbor that stays costs no more than a few repetitions") {
  const Samples samples = measure(waiting_clock({1e6}), {});
  CHECK(samples.per_call_ns == std::vector<double>(10, 2e6));
  CHECK(samples.retries == 3 * 3);  // of the first three samples
  REQUIRE(samples.waited_share);
  CHECK(*samples.waited_share == Approx(0.5));
  CHECK(samples.stop == StopReason::kConverged);
}

TEST_CASE("the resolution of a coarse timer is the error") {
  MeasureOptions options;
  options.timer_resolution_ns = 1000;
  const Samples samples = run("time 1000.3; resolution 1000", options);
  CHECK(samples.batch == 200);
  CHECK(samples.per_call_ns.front() == 1000);
  CHECK(samples.error == 1000.0 / (1000 * 200));
  CHECK(samples.stop == StopReason::kConverged);
}

TEST_CASE("an exception of the backend is rethrown from every stage") {
  for (int batch : {0, 1, 5, 30}) {
    const std::string when = "from " + std::to_string(batch);
    CHECK_THROWS_WITH_AS(run("time 2e6; " + when + " fail time_batch failed the cable is out"),
                         "time_batch: the cable is out", RowFailure);
  }
  try {
    run("time 2e6; from 3 fail time_batch device_lost gone");
    FAIL("run() did not throw");
  } catch (const RowFailure& failure) {
    CHECK(failure.status() == Status::kDeviceLost);
  }
}

TEST_CASE("rests count as spent time, and each that precedes a sample is reported") {
  int calls = 0;
  const BatchTimer rested = [&](uint64_t count) {
    Batch batch;
    batch.count = count, batch.elapsed_ns = batch.host_ns = 1e6 * double(count);
    batch.rested_ns = calls++ < 2 ? 0 : 2e6;
    return batch;
  };
  const Samples samples = measure(rested, {});
  CHECK(samples.rested_ns == 2e6);
  CHECK(samples.rests_ns == std::vector<double>(samples.per_call_ns.size(), 2e6));
  CHECK(samples.spent_ns == calls * 1e6 + (calls - 2) * 2e6);
}

}  // namespace
}  // namespace deepbench
