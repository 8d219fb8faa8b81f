// When sampling stops, and which sample is the median.
#include "deepbench/backend/host_timer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

namespace deepbench::plugin {
namespace {

struct SamplingOutcome {
  std::vector<double> times;
  size_t samples = 0;
};

// The result of sampling `times`, the last of which repeats.
SamplingOutcome sample(const SamplingRule& rule, const std::vector<double>& times) {
  size_t taken = 0;
  const std::vector<double> sampled =
      sample_times_ns(rule, [&] { return times[std::min(taken++, times.size() - 1)]; });
  return {sampled, taken};
}

TEST_CASE("the median is that of exactly as many samples as the rule asks for") {
  const SamplingOutcome sampled = sample({3, 3}, {9, 1, 2});
  CHECK(sampled.samples == 3);
  CHECK(sampled.times == std::vector<double>{9, 1, 2});
  CHECK(median_ns(sampled.times) == 2);
}

TEST_CASE("sampling goes on until the samples fill the span") {
  CHECK(sample({3, 25, 100}, {20}).samples == 5);
  CHECK(sample({3, 25, 100}, {60}).samples == 3);
  CHECK(sample({3, 25, 100}, {1}).samples == 25);
}

TEST_CASE("the host's timer advances") {
  const HostTimer timer;
  const double first = timer.elapsed_ns();
  CHECK(first >= 0);
  CHECK(timer.elapsed_ns() >= first);
}

}  // namespace
}  // namespace deepbench::plugin
