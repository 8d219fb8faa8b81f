// Tests when sampling stops, and for which reason.
#include "deepbench/measure/stopping_rule.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "../fake_backend.hpp"

namespace deepbench {
namespace {

using doctest::Approx;
using testing::concatenate;
using testing::repeat_pattern;

struct Decision {
  std::optional<StopReason> stop;
  int64_t n = 0;
  double error = 0;
};

// Adds single calls until the rule stops or no sample is left; the host time equals the device
// time.
Decision decide_after(const std::vector<double>& samples_ns, const MeasureOptions& options = {},
                      int throttled = 0, bool schedule_perturbed = false) {
  StoppingRule rule(options);
  double spent_ns = 0;
  Decision decision;
  for (double sample_ns : samples_ns) {
    spent_ns += sample_ns;
    rule.add(sample_ns, 1, int(rule.samples().size()) < throttled, schedule_perturbed);
    decision.stop = rule.decide(spent_ns);
    if (decision.stop) break;
  }
  decision.n = int64_t(rule.samples().size());
  decision.error = rule.standard_error();
  return decision;
}

MeasureOptions with_limit(double limit_ns) {
  MeasureOptions options;
  options.time_limit_ns = limit_ns;
  return options;
}

TEST_CASE("the rule decides nothing without a sample") {
  StoppingRule rule{MeasureOptions{}};
  CHECK_FALSE(rule.decide(1e12));
}

TEST_CASE("equal samples converge with the timer's resolution as their error") {
  const Decision decision = decide_after(repeat_pattern({2e6}, 100));
  CHECK(decision.stop == StopReason::kConverged);
  CHECK(decision.n == 10);
  CHECK(decision.error == 1 / 2e6);
  MeasureOptions coarse;
  coarse.timer_resolution_ns = 16e3;  // 0.8 %
  CHECK(decide_after(repeat_pattern({2e6}, 19), coarse).stop == std::nullopt);
}

TEST_CASE("batches must sum up to 20 ms") {
  StoppingRule rule{MeasureOptions{}};
  int samples = 0;
  do rule.add(1000, 200, false), ++samples;
  while (!rule.decide(0));
  CHECK(samples == 100);
}

TEST_CASE("from a hundred samples on the rule checks after each increase by a sixteenth") {
  // 150 us each: precise at once, but 20 ms only at sample 134; the rule checks at 100 106 112 119
  // 126 133 141.
  CHECK(decide_after(repeat_pattern({150e3}, 1000)).n == 141);
}

TEST_CASE("calls of 100 ms need five samples, calls of a second three") {
  CHECK(decide_after(repeat_pattern({99e6}, 20)).n == 10);
  CHECK(decide_after(repeat_pattern({100e6}, 20)).n == 5);
  CHECK(decide_after(repeat_pattern({999e6}, 20)).n == 5);
  CHECK(decide_after(repeat_pattern({1e9}, 20)).n == 3);
  CHECK(decide_after(repeat_pattern({100e6}, 20)).stop == StopReason::kConverged);
}

TEST_CASE("varying long calls end as too few") {
  // The median is 300 ms, the distances are 0 10 10 20 20 ms.
  const Decision decision = decide_after({300e6, 310e6, 290e6, 320e6, 280e6, 300e6});
  CHECK(decision.stop == StopReason::kTooFew);
  CHECK(decision.n == 5);
  CHECK(decision.error == Approx(1.2533 * 1.4826 * 10 / (std::sqrt(5.0) * 300)).epsilon(1e-13));
}

// Five samples with the median `center_ns` and the MAD `distance_ns`; both hold for any number of
// repetitions.
std::vector<double> samples_around(double center_ns, double distance_ns) {
  return {center_ns, center_ns + distance_ns, center_ns - distance_ns, center_ns + 2 * distance_ns,
          center_ns - 2 * distance_ns};
}

TEST_CASE("an error that does not fall is noise") {
  // Of 40 samples 8 lie at the center, 8 at 100 us and 16 at 200 us from it: the error has grown.
  const auto samples = concatenate(repeat_pattern(samples_around(2e6, 100e3), 4),
                                   repeat_pattern(samples_around(2e6, 200e3), 100));
  const Decision noisy = decide_after(samples);
  CHECK(noisy.stop == StopReason::kNoisy);
  CHECK(noisy.n == 40);
  CHECK(noisy.error == Approx(1.2533 * 1.4826 * 0.1 / std::sqrt(40.0)).epsilon(1e-13));
}

TEST_CASE("an error that falls by less than a tenth is noise") {
  // Adding 20 samples with distances d and 2 d, for d between 100 and 200 us, makes d the MAD.
  const auto after = [](double share) {
    const double distance_ns = share * std::sqrt(2.0) * 100e3;
    return decide_after(concatenate(repeat_pattern(samples_around(2e6, 100e3), 4),
                                    repeat_pattern(samples_around(2e6, distance_ns), 4)));
  };
  CHECK(after(0.91).stop == StopReason::kNoisy);
  CHECK(after(0.91).n == 40);
  CHECK(after(0.89).stop == std::nullopt);
}

TEST_CASE("an error that falls with the square root of the samples converges") {
  // 1.2533 * 1.4826 * 0.05 / sqrt(n) <= 0.005 from n = 346 on; the rule checks at 337 and 358.
  const Decision decision = decide_after(repeat_pattern(samples_around(2e6, 100e3), 100));
  CHECK(decision.stop == StopReason::kConverged);
  CHECK(decision.n == 358);
}

TEST_CASE("noise is judged only after the minimum number of samples") {
  MeasureOptions options;
  options.min_samples = 50;
  // At 40 samples the error has grown, but 50 samples are required; at 80 it has fallen again.
  const auto samples = concatenate(repeat_pattern(samples_around(2e6, 100e3), 4),
                                   repeat_pattern(samples_around(2e6, 200e3), 400));
  const Decision decision = decide_after(samples, options);
  CHECK(decision.stop == StopReason::kConverged);
  CHECK(decision.n > 1000);
}

// Six in ten batches take 2 ms, the others 2.2 ms: the median is 2 ms and the MAD is 0.
const std::vector<double> kTwoModes =
    repeat_pattern({2e6, 2.2e6, 2e6, 2.2e6, 2e6, 2e6, 2.2e6, 2e6, 2.2e6, 2e6}, 100);

TEST_CASE("samples are block means where perturbed batches have a multimodal distribution") {
  CHECK(decide_after(kTwoModes).n == 10);
  StoppingRule rule{MeasureOptions{}};
  size_t made = 0;
  for (; !rule.decide(0); ++made) rule.add(kTwoModes[made], 1, false, /*schedule_perturbed=*/true);
  CHECK(made == 120);
  CHECK(rule.batches_per_sample() == 12);
  REQUIRE(rule.samples().size() == 10);
  for (const double mean : rule.samples()) CHECK(mean == Approx(2.08e6).epsilon(0.01));
}

TEST_CASE("perturbed batches that hardly vary are single samples") {
  StoppingRule rule{MeasureOptions{}};
  // a deviation of 1.3 %
  for (int i = 0; i < 10; ++i) rule.add(i % 2 ? 2e6 : 2.05e6, 1, false, true);
  CHECK(rule.decide(0) == std::nullopt);  // an error of 0.7 %
  for (int i = 0; i < 20; ++i) rule.add(i % 2 ? 2e6 : 2.05e6, 1, false, true);
  CHECK(rule.decide(0) == StopReason::kConverged);
  CHECK(rule.batches_per_sample() == 1);
  CHECK(rule.samples().size() == 30);
}

TEST_CASE("equal block means have the timer's resolution as their error") {
  const Decision equal = decide_after(repeat_pattern({2e6, 2.2e6, 2e6}, 100), {}, 0, true);
  CHECK(equal.stop == StopReason::kConverged);
  CHECK(equal.n == 10);
  CHECK(equal.error == Approx(1 / (6.2e6 / 3)).epsilon(1e-6));
}

TEST_CASE("block means that stay imprecise end as noisy") {
  // Six, three or nine of twelve batches are in the slow mode, so the block means vary too.
  const auto three =
      concatenate(repeat_pattern({2e6, 2.4e6}, 6), repeat_pattern({2e6, 2e6, 2e6, 2.4e6}, 3),
                  repeat_pattern({2.4e6, 2.4e6, 2e6, 2.4e6}, 3));
  const std::vector<double> many = concatenate(three, three, three, three, three, three, three,
                                               three, three, three, three, three);
  const Decision noisy = decide_after(many, {}, 0, true);
  CHECK(noisy.stop == StopReason::kNoisy);
  CHECK(noisy.n == 20);
  CHECK(noisy.error == Approx(1.2533 * 1.4826 * 0.1 / (std::sqrt(20.0) * 2.2)).epsilon(1e-3));
}

TEST_CASE("at the time limit, too few batches for block means are single samples") {
  StoppingRule rule{with_limit(100e6)};
  std::optional<StopReason> stop;
  for (double spent_ns = 0; !stop; stop = rule.decide(spent_ns)) {
    rule.add(kTwoModes[rule.samples().size()], 1, false, true);
    spent_ns += rule.samples().back();
  }
  CHECK(stop == StopReason::kTimeLimit);
  CHECK(rule.batches_per_sample() == 1);
  CHECK(rule.samples().size() == 49);
  CHECK(rule.standard_error() == Approx(1 / 2e6));  // the error of single batches
}

TEST_CASE("the time limit ends sampling in every state") {
  const Decision enough =
      decide_after(repeat_pattern(samples_around(2e6, 100e3), 10), with_limit(30e6));
  CHECK(enough.stop == StopReason::kTimeLimit);
  CHECK(enough.n == 15);
  const Decision few =
      decide_after(repeat_pattern(samples_around(2e6, 100e3), 10), with_limit(17e6));
  CHECK(few.stop == StopReason::kTooFew);
  CHECK(few.n == 9);
  const Decision one = decide_after({3e6}, with_limit(1e6));
  CHECK(one.stop == StopReason::kTooFew);
  CHECK(one.error == std::numeric_limits<double>::infinity());
  // A row that is precise at the time limit has converged.
  CHECK(decide_after(repeat_pattern({2e6}, 10), with_limit(20e6)).stop == StopReason::kConverged);
}

TEST_CASE("an exact number of samples is taken, whatever their error") {
  MeasureOptions options;
  options.exact_samples = 3;
  CHECK(decide_after(repeat_pattern({2e6}, 100), options).n == 3);
  // three equal samples may be chance
  CHECK(decide_after(repeat_pattern({2e6}, 100), options).stop == StopReason::kTooFew);
  CHECK(decide_after(repeat_pattern({2e9}, 100), options).stop == StopReason::kConverged);
  options.exact_samples = 10;
  CHECK(decide_after(repeat_pattern({2e6}, 100), options).stop == StopReason::kConverged);
  CHECK(decide_after({1e6, 2e6, 3e6, 1e6, 2e6, 3e6, 1e6, 2e6, 3e6, 1e6}, options).stop ==
        StopReason::kTooFew);
  // beyond the number at which the rule converges, finds noise or checks
  options.exact_samples = 500;
  const Decision many = decide_after(repeat_pattern(samples_around(2e6, 100e3), 200), options);
  CHECK(many.n == 500);
  CHECK(many.stop == StopReason::kConverged);
}

TEST_CASE("an exact number that exceeds the time limit ends as time_limit or too_few") {
  MeasureOptions options = with_limit(60e6);
  options.exact_samples = 500;
  const Decision decision = decide_after(repeat_pattern({2e6}, 100), options);
  CHECK(decision.n == 30);
  CHECK(decision.stop == StopReason::kTimeLimit);
  const Decision few = decide_after(repeat_pattern({20e6}, 100), options);
  CHECK(few.n == 3);
  CHECK(few.stop == StopReason::kTooFew);
  options.time_limit_ns = 2e9;  // the same for long calls
  CHECK(decide_after(repeat_pattern({300e6}, 100), options).n == 7);
  CHECK(decide_after(repeat_pattern({300e6}, 100), options).stop == StopReason::kTimeLimit);
}

TEST_CASE("more than a tenth of throttled samples make the row throttled") {
  CHECK(decide_after(repeat_pattern({2e6}, 10), {}, 1).stop == StopReason::kConverged);
  CHECK(decide_after(repeat_pattern({2e6}, 10), {}, 2).stop == StopReason::kThrottled);
  MeasureOptions exact;
  exact.exact_samples = 4;
  CHECK(decide_after(repeat_pattern({2e6}, 10), exact, 1).stop == StopReason::kThrottled);
  CHECK(decide_after(repeat_pattern({2e6}, 10), with_limit(10e6), 1).stop ==
        StopReason::kThrottled);
}

TEST_CASE("names of stop reasons are those of the result file") {
  CHECK(name_of(StopReason::kConverged) == "converged");
  CHECK(name_of(StopReason::kNoisy) == "noisy");
  CHECK(name_of(StopReason::kTimeLimit) == "time_limit");
  CHECK(name_of(StopReason::kThrottled) == "throttled");
  CHECK(name_of(StopReason::kTooFew) == "too_few");
}

}  // namespace
}  // namespace deepbench
