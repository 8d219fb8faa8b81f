// The bound of a row and the verdict on a row above its ceilings.
#include "deepbench/run/row/assess.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../../fake_backend.hpp"

namespace deepbench {
namespace {

using doctest::Approx;
using testing::repeat_pattern;

// 1000 operations and 100 bytes in a nanosecond, 10 ns for an empty call.
RowCeilings ceilings_of_level(const std::string& level = "memory") {
  RowCeilings ceilings;
  ceilings.precision = "half";
  ceilings.level = {level, 0};
  ceilings.flops_per_s = 1e12;
  ceilings.bytes_per_s = 1e11;
  ceilings.latency_ns = 10;
  return ceilings;
}

TEST_CASE("the larger of the two roofs bounds a row") {
  struct Case {
    std::string about;
    Work work;
    double median_ns;
    std::string level;
    std::string by;
    double share_arithmetic, share_roofline;
  };
  const std::vector<Case> cases = {
      {"work", {1e6, 1e3}, 2000, "memory", "arithmetic", 0.5, 0.5},
      {"bytes from the memory", {1e5, 1e5}, 2000, "memory", "memory", 0.05, 0.5},
      {"bytes from a cache", {1e5, 1e5}, 2000, "l2", "cache", 0.05, 0.5},
      {"both alike", {1e6, 1e5}, 1000, "memory", "arithmetic", 1, 1},
      {"no work", {0, 1e5}, 2000, "memory", "memory", 0, 0.5},
      {"a call as short as three empty ones",
       {1e4, 1e2},
       30,
       "memory",
       "arithmetic",
       1. / 3,
       1. / 3},
      {"a shorter call", {1e4, 1e2}, 29.9, "memory", "latency", 10 / 29.9, 10 / 29.9},
      {"neither work nor bytes", {0, 0}, 2000, "memory", "", 0, 0},
      {"a transform that spares three of four operations",
       {4e6, 1e3, 4},
       2000,
       "memory",
       "arithmetic",
       0.5,
       0.5},
  };
  for (const Case& one : cases) {
    CAPTURE(one.about);
    const Bound bound = assess(one.work, one.median_ns, ceilings_of_level(one.level)).bound;
    CHECK(bound.by == one.by);
    CHECK(bound.level == one.level);
    CHECK(bound.share_arithmetic == Approx(one.share_arithmetic));
    CHECK(bound.share_roofline == Approx(one.share_roofline));
    CHECK(bound.missing.empty());
    CHECK(bound.flops_per_s == 1e12);
    CHECK(bound.bytes_per_s == 1e11);
    CHECK(bound.latency_ns == 10);
  }
}

TEST_CASE("a recurrence is bound by its steps where they take longer than the device") {
  struct Case {
    double steps, step_ns;
    std::string by;
    double share_roofline;
  };
  // The device needs 1000 ns of 2000.
  for (const Case& one : std::vector<Case>{{0, 100, "arithmetic", 0.5},
                                           {10, 0, "arithmetic", 0.5},
                                           {10, 100, "arithmetic", 0.5},
                                           {10, 150, "serial", 0.75},
                                           {10, 300, "serial", 1.5}}) {
    CAPTURE(one.step_ns);
    Work work = {1e6, 1e3};
    work.steps = one.steps;
    RowCeilings ceilings = ceilings_of_level();
    ceilings.step_ns = one.step_ns;
    ceilings.serial_key = "serial bytes=4";
    const Assessment found = assess(work, 2000, ceilings);
    CHECK(found.bound.by == one.by);
    CHECK(found.bound.share_roofline == Approx(one.share_roofline));
    CHECK(found.bound.share_arithmetic == Approx(0.5));
    CHECK(found.bound.step_ns == one.step_ns);
    CHECK(found.bound.serial_key == "serial bytes=4");
    CHECK_FALSE(found.exceeds_roofline);  // it casts no doubt
  }
  Work work = {1e6, 1e3};
  work.steps = 10;
  RowCeilings ceilings = ceilings_of_level();
  ceilings.step_ns = 2;
  CHECK(assess(work, 29, ceilings).bound.by == "latency");
}

TEST_CASE("a row exceeds a ceiling from 5 % above it") {
  struct Case {
    Work work;
    double median_ns;
    bool roofline, arithmetic, bandwidth;
  };
  const std::vector<Case> cases = {
      {{1e6, 1e3}, 1000, false, false, false}, {{1e6, 1e3}, 953, false, false, false},
      {{1e6, 1e3}, 952, true, true, false},    {{1e3, 1e5}, 953, false, false, false},
      {{1e3, 1e5}, 952, true, false, true},    {{1e6, 1e5}, 952, true, true, true},
      {{1e6, 0.5e5}, 952, true, true, false},  {{0, 1e5}, 500, true, false, true},
  };
  for (const Case& one : cases) {
    CAPTURE(one.work.flops);
    CAPTURE(one.work.bytes);
    CAPTURE(one.median_ns);
    const Assessment found = assess(one.work, one.median_ns, ceilings_of_level());
    CHECK(found.exceeds_roofline == one.roofline);
    CHECK(found.exceeds_arithmetic == one.arithmetic);
    CHECK(found.exceeds_bandwidth == one.bandwidth);
  }
}

TEST_CASE("a row raises a ceiling only if it shows what the device reaches") {
  constexpr double kLarge = kLeastCeilingFlops;
  struct Case {
    std::string about;
    Work work;
    double median_ns;
    int64_t inner_bytes;
    bool arithmetic, bandwidth;
    std::string none_because;
  };
  // An arithmetic ceiling of 1000 operations and a bandwidth of 100 bytes in a nanosecond.
  const std::vector<Case> cases = {
      {"within", {kLarge, 1e3}, kLarge / 1000, 0, false, false, ""},
      {"above", {kLarge, 1e3}, kLarge / 2000, 0, true, false, ""},
      {"small", {kLarge - 1, 1e3}, kLarge / 2000, 0, false, false, "of so few operations"},
      {"a transform", {kLarge, 1e3, 4}, kLarge / 8000, 0, false, false, "a transform"},
      {"in another precision's arithmetic",
       {kLarge, 1e3, 1, 0, 0, 0, "float"},
       kLarge / 2000,
       0,
       false,
       false,
       "of another precision's arithmetic"},
      {"cold", {0, 1e6}, 5000, 0, false, true, ""},
      {"hot, of which 5 % may be cached", {0, 1e6}, 5000, 50000, false, true, ""},
      {"hot, of which more may be", {0, 1e6}, 5000, 50001, false, false, "may hold in part"},
      {"small, but not in its bytes", {1e7, 1e6}, 5000, 0, false, true, ""},
      {"large, but not in its bytes", {kLarge, 3e8}, kLarge / 2000, 3 << 27, true, false, ""},
  };
  for (const Case& one : cases) {
    CAPTURE(one.about);
    RowCeilings ceilings = ceilings_of_level();
    ceilings.level.inner_bytes = one.inner_bytes;
    const Assessment found = assess(one.work, one.median_ns, ceilings);
    CHECK(found.raises_arithmetic == one.arithmetic);
    CHECK(found.raises_bandwidth == one.bandwidth);
    CHECK(found.raises_none_because.find(one.none_because) != std::string::npos);
    CHECK(found.raises_none_because.empty() == one.none_because.empty());
  }
}

TEST_CASE("a smaller level explains a rate if the bytes that cannot be in it are slow enough") {
  RowCeilings ceilings = ceilings_of_level();
  ceilings.level.inner_bytes = 60000;  // of 100,000, at 100 bytes in a nanosecond
  CHECK(assess({0, 1e5}, 400, ceilings).inner_level_explains);
  CHECK_FALSE(assess({0, 1e5}, 399, ceilings).inner_level_explains);
  ceilings.level.inner_bytes = 0;
  CHECK_FALSE(assess({0, 1e5}, 2000, ceilings).inner_level_explains);
}

TEST_CASE("without a ceiling there is no roofline, and nothing exceeds what is unknown") {
  RowCeilings ceilings = ceilings_of_level("llc");
  ceilings.flops_per_s = 0;
  const Assessment no_arithmetic = assess({1e6, 1e3}, 1e3, ceilings);
  CHECK(no_arithmetic.bound.missing == "the arithmetic ceiling of half");
  CHECK(no_arithmetic.bound.by.empty());
  CHECK_FALSE(no_arithmetic.exceeds_arithmetic);
  CHECK(assess({0, 1e5}, 2000, ceilings).bound.missing.empty());  // it needs no arithmetic
  CHECK(assess({1e6, 1e3}, 20, ceilings).bound.by == "latency");

  ceilings = ceilings_of_level("llc");
  ceilings.bytes_per_s = 0;
  const Assessment no_bandwidth = assess({1e6, 1e9}, 2000, ceilings);
  CHECK(no_bandwidth.bound.missing == "the bandwidth of the llc");
  CHECK(no_bandwidth.bound.share_arithmetic == Approx(0.5));
  CHECK_FALSE(no_bandwidth.exceeds_bandwidth);

  ceilings = ceilings_of_level();
  ceilings.latency_ns = 0;
  CHECK(assess({1e3, 1e3}, 20, ceilings).bound.by == "memory");
}

TEST_CASE("a bound names its ceilings") {
  RowCeilings ceilings = ceilings_of_level();
  ceilings.arithmetic_key = "arithmetic a";
  ceilings.bandwidth_key = "bandwidth b";
  ceilings.latency_key = "latency c";
  const Bound bound = assess({1e6, 1e3}, 2000, ceilings).bound;
  CHECK(bound.arithmetic_key == "arithmetic a");
  CHECK(bound.bandwidth_key == "bandwidth b");
  CHECK(bound.latency_key == "latency c");
}

Measurement measurement_of(const std::vector<double>& samples,
                           StopReason stop = StopReason::kConverged) {
  Measurement measurement;
  measurement.samples.emplace();
  measurement.samples->per_call_ns = samples;
  measurement.samples->stop = stop;
  return measurement;
}

Assessment assessment_above_ceiling(bool exceeds) {
  Assessment assessment;
  assessment.exceeds_roofline = exceeds;
  return assessment;
}

TEST_CASE("what two measurements of a row above its ceilings say") {
  const std::vector<double> steady = repeat_pattern({100, 101, 99}, 10);
  const std::vector<double> near = repeat_pattern({104, 105, 103}, 10);
  const std::vector<double> other = repeat_pattern({150, 151, 149}, 10);
  const std::vector<double> wide = repeat_pattern({100, 60, 140}, 2);
  struct Case {
    std::string about;
    Measurement first, second;
    bool still_above;
    Doubt doubt;
    std::string text;  // part of it
  };
  using Times = std::vector<double>;
  const auto precise = [](const Times& samples) { return measurement_of(samples); };
  const auto few = [](const Times& samples) {
    return measurement_of(samples, StopReason::kTooFew);
  };
  const std::vector<Case> cases = {
      {"two that agree, below after all", precise(steady), precise(near), false, Doubt::kNone, ""},
      {"the second is below", precise(steady), precise(other), false, Doubt::kNone,
       "measured twice, 100.0 ns, then 150.0 ns: the first was above the measured ceiling"},
      {"two that agree", precise(steady), precise(near), true, Doubt::kLowCeiling,
       "which the first confirms, is kept"},
      {"two that differ", precise(steady), precise(other), true, Doubt::kMistrusted,
       "the two differ"},
      {"a wide first one", precise(wide), precise(steady), true, Doubt::kNoise,
       "too noisy to tell"},
      {"a wide second one", precise(steady), precise(wide), true, Doubt::kNoise,
       "too noisy to tell"},
      {"one that did not converge", precise(steady), measurement_of(steady, StopReason::kTimeLimit),
       true, Doubt::kNoise, "too noisy to tell"},
      {"narrow, with too few samples", few(steady), few(other), true, Doubt::kTooFewSamples,
       "too few samples to tell"},
      {"one with too few samples", few(steady), precise(steady), true, Doubt::kNoise,
       "too noisy to tell"},
      {"a single sample is not narrow", few({100}), few({100}), true, Doubt::kNoise,
       "too noisy to tell"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.about);
    const Verdict verdict =
        judge(one.first, &one.second, assessment_above_ceiling(one.still_above));
    CHECK(verdict.doubt == one.doubt);
    CHECK(verdict.text.find(one.text) != std::string::npos);
    CHECK(verdict.text.empty() == one.text.empty());
  }
}

TEST_CASE("medians agree up to 5 % apart") {
  const Measurement first = measurement_of(repeat_pattern({100}, 10));
  for (const auto& [second_ns, doubt] :
       std::vector<std::pair<double, Doubt>>{{105, Doubt::kLowCeiling},
                                             {95, Doubt::kLowCeiling},
                                             {105.1, Doubt::kMistrusted},
                                             {94.9, Doubt::kMistrusted}}) {
    CAPTURE(second_ns);
    const Measurement second = measurement_of(repeat_pattern({second_ns}, 10));
    CHECK(judge(first, &second, assessment_above_ceiling(true)).doubt == doubt);
  }
}

TEST_CASE("a row that was measured once is judged against the ceilings measured again") {
  const Measurement steady = measurement_of(repeat_pattern({100, 101, 99}, 10));
  const Verdict below = judge(steady, nullptr, assessment_above_ceiling(false));
  CHECK(below.doubt == Doubt::kNone);
  CHECK(below.text.empty());
  const Verdict low = judge(steady, nullptr, assessment_above_ceiling(true));
  CHECK(low.doubt == Doubt::kLowCeiling);
  CHECK(low.text == "steadily above the measured ceiling, which it raises");
  Assessment small = assessment_above_ceiling(true);
  small.raises_none_because = "a problem of so few operations does not raise";
  CHECK(judge(steady, nullptr, small).text ==
        "steadily above the measured ceiling, which a problem of so few operations does not raise");
  const Measurement wide = measurement_of(repeat_pattern({100, 60, 140}, 2));
  const Verdict noisy = judge(wide, nullptr, assessment_above_ceiling(true));
  CHECK(noisy.doubt == Doubt::kNoise);
  CHECK(noisy.text == "above the measured ceiling, on a machine too noisy to tell which is off");
}

}  // namespace
}  // namespace deepbench
