// Soaks: the course of many batches in few parts, and the loop that makes so many calls.
#include "deepbench/measure/soak.hpp"

#include <doctest/doctest.h>

#include "../fake_backend.hpp"
#include "deepbench/measure/measure.hpp"

namespace deepbench {
namespace {

Batch batch_of(uint64_t count, double elapsed_ns, double clock_mhz) {
  Batch batch;
  batch.count = count;
  batch.elapsed_ns = elapsed_ns;
  batch.clock_mhz = clock_mhz;
  return batch;
}

template <class Value>
double sum_of(const std::vector<SoakPart>& parts, Value SoakPart::*member) {
  double sum = 0;
  for (const SoakPart& part : parts) sum += double(part.*member);
  return sum;
}

TEST_CASE("a short soak has a part for each batch") {
  SoakCourse course;
  CHECK(course.parts().empty());
  for (int i = 0; i < 100; ++i) course.add(batch_of(3, 10 + i, 1000 + i), i == 7);
  REQUIRE(course.parts().size() == 100);
  CHECK(course.parts()[7].elapsed_ns == 17);
  CHECK(course.parts()[7].clock_mhz == 1007);
  CHECK(course.parts()[7].throttled == 1);
  CHECK(course.parts()[8].throttled == 0);
}

TEST_CASE("a long soak has parts of equally many batches, and loses none") {
  SoakCourse course;
  constexpr int kBatches = 1003;
  double elapsed_ns = 0;
  for (int i = 0; i < kBatches; ++i) {
    Batch batch = batch_of(2, 10 + i, 2000 - i);
    batch.power_capped = i % 2 == 0;
    elapsed_ns += batch.elapsed_ns;
    course.add(batch, i >= 1000);
  }
  const std::vector<SoakPart>& parts = course.parts();
  REQUIRE(parts.size() == 63);  // of 16 batches
  for (size_t i = 0; i + 1 < parts.size(); ++i) CHECK(parts[i].batches == 16);
  CHECK(parts.back().batches == kBatches - 62 * 16);
  CHECK(sum_of(parts, &SoakPart::calls) == 2 * kBatches);
  CHECK(sum_of(parts, &SoakPart::elapsed_ns) == elapsed_ns);
  CHECK(sum_of(parts, &SoakPart::throttled) == 3);
  CHECK(sum_of(parts, &SoakPart::power_capped) == 502);
  CHECK(parts.front().clock_mhz == doctest::Approx(2000 - 7.5));
}

TEST_CASE("the clock of a part is the mean of those that are known") {
  SoakCourse course;
  // Parts of four batches: one clock in three is unknown, and at the end all are.
  for (int i = 0; i < 400; ++i)
    course.add(batch_of(1, 10, i % 3 == 0 || i >= 200 ? 0 : 1000 + 100 * double(i % 3)), false);
  const std::vector<SoakPart>& parts = course.parts();
  REQUIRE(parts.size() == 100);
  CHECK(parts[0].clock_mhz == doctest::Approx(1150));  // of 1100 and 1200
  CHECK(parts[1].clock_mhz == doctest::Approx((1100 + 1200 + 1100) / 3.0));
  CHECK(parts[1].clocked == 3);
  CHECK(parts[99].clocked == 0);
  CHECK(parts[99].clock_mhz == 0);
}

TEST_CASE("a soak makes at least the calls that it is asked for, and repeats no throttled batch") {
  MeasureOptions options;
  options.soak_calls = 1950;
  options.max_batch = 100;
  // Two calls, twenty warm-up batches, then samples, of which some have half the clock.
  const Samples samples = measure(
      testing::scripted_clock("time 1000 hold; mhz 1500*22 1500*10 700*4 1500 hold"), options);
  CHECK(samples.batch == 100);
  CHECK(samples.per_call_ns.size() == 20);
  CHECK(samples.retries == 0);
  CHECK(samples.throttled == 4);
  const std::vector<SoakPart>& parts = samples.soak.parts();
  REQUIRE(parts.size() == 20);
  CHECK(sum_of(parts, &SoakPart::calls) == 2000);
  CHECK(sum_of(parts, &SoakPart::throttled) == 4);
  CHECK(parts[10].clock_mhz == 700);
  CHECK(samples.stop == StopReason::kThrottled);  // four of twenty
}

TEST_CASE("a soak whose times vary is noisy, and one that is cut short reached its limit of time") {
  MeasureOptions options;
  options.soak_calls = 40;
  CHECK(measure(testing::scripted_clock("time 2e6; noise 1 0.3"), options).stop ==
        StopReason::kNoisy);
  options.time_limit_ns = 60e6;
  const Samples cut = measure(testing::scripted_clock("time 2e6 hold"), options);
  CHECK(cut.stop != StopReason::kConverged);
  CHECK(cut.soak.parts().size() < 40);
}

}  // namespace
}  // namespace deepbench
