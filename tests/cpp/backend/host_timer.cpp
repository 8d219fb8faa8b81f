// When sampling stops, and which sample is the median.
#include "deepbench/backend/host_timer.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace deepbench::plugin {
namespace {

// The result of sampling `times`, the last of which repeats.
SampledTime sample(const SamplingRule& rule, const std::vector<double>& times) {
  size_t next = 0;
  return median_time(rule, [&] { return times[next + 1 < times.size() ? next++ : next]; });
}

TEST_CASE("the median is that of exactly as many samples as the rule asks for") {
  const SampledTime time = sample({3, 3}, {9, 1, 2});
  CHECK(time.samples == 3);
  CHECK(time.median_ns == 2);
}

TEST_CASE("sampling goes on until the samples fill the span") {
  CHECK(sample({3, 25, 100}, {20}).samples == 5);
  CHECK(sample({3, 25, 100}, {60}).samples == 3);
  CHECK(sample({3, 25, 100}, {1}).samples == 25);
}

TEST_CASE("one long sample is enough") {
  const SampledTime time = sample({3, 25, 100, 1000}, {1001, 1});
  CHECK(time.samples == 1);
  CHECK(time.median_ns == 1001);
  CHECK(sample({3, 25, 100, 1000}, {1000}).samples == 3);
}

TEST_CASE("the host's timer advances") {
  const HostTimer timer;
  const double first = timer.elapsed_ns();
  CHECK(first >= 0);
  CHECK(timer.elapsed_ns() >= first);
}

}  // namespace
}  // namespace deepbench::plugin
