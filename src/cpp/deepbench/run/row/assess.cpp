// Bound, shares of the ceilings, and the verdict on a measurement above them.
#include "deepbench/run/row/assess.hpp"

#include <algorithm>
#include <cmath>

#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/row/format_time.hpp"

namespace deepbench {
namespace {

constexpr double kTolerance = 0.05;
constexpr double kMaxRoofline = 1 + kTolerance;  // a larger share of a ceiling is doubted
constexpr double kSteady = kTolerance;           // medians that differ by at most this share agree
// A call that takes less than this many times the smallest call is latency-bound.
constexpr double kLatencyBoundCalls = 3;

bool medians_agree(const Samples& first, const Samples& second) {
  const double first_ns = median(first.per_call_ns);
  return std::abs(first_ns - median(second.per_call_ns)) <= kSteady * first_ns;
}

bool is_narrow(const Samples& samples) {
  const Statistics s = summarize(samples.per_call_ns);
  return s.n > 1 && s.high - s.low <= 2 * kSteady * s.median;
}

bool is_precise(const Samples& samples) {
  return samples.stop == StopReason::kConverged && is_narrow(samples);
}

bool has_too_few_samples(const Samples& samples) {
  return samples.stop == StopReason::kTooFew && is_narrow(samples);
}

std::string both_medians(const Samples& first, const Samples& second) {
  const double first_ns = median(first.per_call_ns), second_ns = median(second.per_call_ns);
  return "measured twice, " + format_time(first_ns, second_ns) + ", then " +
         format_time(second_ns, second_ns) + ": ";
}

// Decides which ceilings the row raises. Four kinds of rows do not show what the device reaches: a
// transform computes fewer operations than are counted; that a kernel computes in another precision
// than the problem's is known from the library's word alone; small products are not those that a
// ceiling is measured with; and a smaller level may hold a considerable share of a hot row's bytes.
void decide_what_is_raised(const Work& work, const RowCeilings& ceilings, Assessment& assessment) {
  const bool is_transform = work.transform_factor != 1;
  const bool is_small = work.flops < kLeastCeilingFlops;
  const bool is_cached = double(ceilings.level.inner_bytes) > kTolerance * work.bytes;
  const bool is_in_another = !work.arithmetic.empty();
  assessment.raises_arithmetic =
      assessment.exceeds_arithmetic && !is_transform && !is_in_another && !is_small;
  assessment.raises_bandwidth = assessment.exceeds_bandwidth && !is_cached;
  if (assessment.raises_arithmetic || assessment.raises_bandwidth || !assessment.exceeds_roofline)
    return;
  if (!assessment.exceeds_arithmetic)
    assessment.raises_none_because = "operands that a smaller cache may hold in part do not raise";
  else
    assessment.raises_none_because =
        is_transform    ? "a transform does not raise"
        : is_in_another ? "a kernel of another precision's arithmetic does not raise"
                        : "a problem of so few operations does not raise";
}

}  // namespace

Assessment assess(const Work& work, double median_ns, const RowCeilings& ceilings) {
  const double t = median_ns;
  Assessment assessment;
  Bound& bound = assessment.bound;
  bound.level = ceilings.level.name;
  bound.bytes_per_s = ceilings.bytes_per_s;
  bound.latency_ns = ceilings.latency_ns;
  bound.flops_per_s = ceilings.flops_per_s;
  bound.arithmetic_key = ceilings.arithmetic_key;
  bound.bandwidth_key = ceilings.bandwidth_key;
  bound.latency_key = ceilings.latency_key;
  bound.step_ns = ceilings.step_ns;
  bound.serial_key = ceilings.serial_key;
  if (work.flops > 0 && bound.flops_per_s == 0)
    bound.missing = "the arithmetic ceiling of " + ceilings.precision;
  else if (work.bytes > 0 && bound.bytes_per_s == 0)
    bound.missing = "the bandwidth of the " + bound.level;
  const double memory_ns = bound.bytes_per_s > 0 ? work.bytes / bound.bytes_per_s * 1e9 : 0;
  const double executed = work.flops / work.transform_factor;
  const double arithmetic_ns = bound.flops_per_s > 0 ? executed / bound.flops_per_s * 1e9 : 0;
  bound.share_arithmetic = arithmetic_ns / t;
  const double device_ns = std::max(arithmetic_ns, memory_ns);
  const double serial_ns = work.steps * bound.step_ns;
  bound.share_roofline = std::max(device_ns, serial_ns) / t;
  if (t < kLatencyBoundCalls * bound.latency_ns) {
    bound.by = "latency";
  } else if (bound.share_roofline > 0 && bound.missing.empty()) {
    const char* moving = bound.level == "memory" ? "memory" : "cache";
    bound.by = serial_ns > device_ns        ? "serial"
               : arithmetic_ns >= memory_ns ? "arithmetic"
                                            : moving;
  }
  // A recurrence may pass its states among fewer threads than the serial ceiling's steps use, so
  // that a row above that ceiling casts doubt on neither.
  assessment.exceeds_roofline = device_ns / t > kMaxRoofline;
  assessment.exceeds_arithmetic = bound.share_arithmetic > kMaxRoofline;
  assessment.exceeds_bandwidth =
      bound.bytes_per_s > 0 && work.bytes / t * 1e9 > kMaxRoofline * bound.bytes_per_s;
  const auto inner_bytes = double(ceilings.level.inner_bytes);
  assessment.inner_level_explains =
      inner_bytes > 0 && (work.bytes - inner_bytes) / t * 1e9 <= bound.bytes_per_s;
  decide_what_is_raised(work, ceilings, assessment);
  return assessment;
}

Verdict judge(const Measurement& first, const Measurement* second, const Assessment& assessment) {
  const Samples& before = *first.samples;
  const Samples& after = second ? *second->samples : before;
  const bool repeats = medians_agree(before, after);
  const std::string twice = second ? both_medians(before, after) : "";
  const std::string kept =
      second ? "; the second, after which the ceiling was measured again, is kept" : "";
  if (!assessment.exceeds_roofline)
    return {Doubt::kNone, repeats ? ""
                                  : twice +
                                        "the first was above the measured ceiling; the second, "
                                        "which is not, is kept"};
  if (has_too_few_samples(before) && has_too_few_samples(after))
    return {Doubt::kTooFewSamples,
            twice + "above the measured ceiling, with too few samples to tell which is off" + kept};
  if (!is_precise(before) || !is_precise(after))
    return {
        Doubt::kNoise,
        twice + "above the measured ceiling, on a machine too noisy to tell which is off" + kept};
  if (repeats)
    return {Doubt::kLowCeiling,
            twice + "steadily above the measured ceiling, which " +
                (assessment.raises_none_because.empty() ? "it raises"
                                                        : assessment.raises_none_because) +
                (second ? "; the second, which the first confirms, is kept" : "")};
  return {Doubt::kMistrusted,
          twice +
              "above the measured ceiling, and the two differ; the second is kept, without rates; "
              "other work on the machine does that"};
}

}  // namespace deepbench
