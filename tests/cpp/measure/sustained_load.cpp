// When a load before the samples ends.
#include "deepbench/measure/sustained_load.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

namespace deepbench {
namespace {

struct Observed {
  double per_call_ns = 1e6, mhz = 0;
};

// The seconds that the load lasts, with batches of ten calls.
double load_s(double min_ns, const std::function<Observed(double at_s)>& device) {
  constexpr uint64_t kCalls = 10;
  SustainedLoad load(min_ns);
  double at_s = 0;
  while (!load.has_settled() && at_s < 100) {
    const Observed seen = device(at_s);
    Batch batch;
    batch.count = kCalls;
    batch.elapsed_ns = batch.host_ns = double(kCalls) * seen.per_call_ns;
    batch.clock_mhz = seen.mhz;
    load.add(batch);
    at_s += batch.elapsed_ns / 1e9;
  }
  return at_s;
}

TEST_CASE("a load that is steady lasts its least time, or two windows") {
  const auto steady = [](double) { return Observed{1e6, 1500}; };
  CHECK(load_s(3e9, steady) == doctest::Approx(3));
  CHECK(load_s(0, steady) == doctest::Approx(1));
}

TEST_CASE("a load goes on while the clock falls or calls become slower") {
  const auto clock_falls = [](double at_s) {
    return Observed{1e6, 1980 - 200 * std::min(at_s, 2.0)};
  };
  CHECK(load_s(0, clock_falls) > 2);
  CHECK(load_s(0, clock_falls) < 4);
  const auto calls_slow_down = [](double at_s) {
    return Observed{1e6 + 1e5 * std::min(at_s, 2.0), 0};
  };
  CHECK(load_s(0, calls_slow_down) > 2);
}

TEST_CASE("a load that never settles ends") {
  const auto drifts = [](double at_s) { return Observed{1e6, 1980 - 100 * at_s}; };
  CHECK(load_s(3e9, drifts) == doctest::Approx(5));
}

TEST_CASE("a device is idle at first, and not right after a batch") {
  DeviceActivity activity;
  CHECK(activity.was_idle());
  activity.add_batch(false);
  CHECK_FALSE(activity.was_idle());
  CHECK(activity.recovery_ns() == 0);
}

TEST_CASE("a device recovers from a sustained load within an idle second") {
  DeviceActivity activity;
  CHECK(activity.recovery_ns() == 0);
  activity.add_batch(true);
  const double first_ns = activity.recovery_ns();
  CHECK(first_ns > 0);
  CHECK(first_ns <= kIdleNs);
  sleep_for_ns(1e6);
  CHECK(activity.recovery_ns() <= first_ns - 1e6);
  activity.add_batch(false);  // of a row that has waited
  CHECK(activity.recovery_ns() == 0);
}

}  // namespace
}  // namespace deepbench
