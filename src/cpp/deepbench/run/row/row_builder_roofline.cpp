// What bounds a row, and what becomes of one that is above its ceiling.
#include <algorithm>
#include <cmath>

#include "deepbench/core/stopwatch.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/row/format_time.hpp"
#include "deepbench/run/row/row_builder.hpp"

namespace deepbench {
namespace {

constexpr double kMaxRoofline = 1.05;     // more than this share of a limit is not believed
constexpr double kSteady = 0.05;          // two medians this near to each other are the same
constexpr double kLatencyBoundCalls = 3;  // shorter than so many empty calls: bound by latency

// Whether two measurements tell the same.
bool medians_agree(const Samples& before, const Samples& after) {
  const double first = median(before.per_call_ns);
  return std::abs(first - median(after.per_call_ns)) <= kSteady * first;
}

bool is_narrow(const Samples& samples) {
  const Statistics s = summarize(samples.per_call_ns);
  return s.n > 1 && s.high - s.low <= 2 * kSteady * s.median;
}

// Whether the median is known well enough to be held against another one.
bool is_precise(const Samples& samples) {
  return samples.stop == StopReason::kConverged && is_narrow(samples);
}

// Whether only more samples are wanting.
bool has_too_few_samples(const Samples& samples) {
  return samples.stop == StopReason::kTooFew && is_narrow(samples);
}

// The begin of a note on a row that was measured again; the second time is the row's.
std::string both_medians(const Samples& before, const Samples& after) {
  const double first_ns = median(before.per_call_ns), second_ns = median(after.per_call_ns);
  return "measured twice, " + format_time(first_ns, second_ns) + ", then " +
         format_time(second_ns, second_ns) + ": ";
}

}  // namespace

void RowBuilder::compute_bound() {
  Stopwatch watch;
  const std::string precision = problem_.text("precision");
  const double t = row_.median_ns();
  Bound bound;
  bound.level = memory_level().name;
  bound.bytes_per_s = ceilings_.bandwidth(memory_level());
  bound.latency_ns = ceilings_.latency_ns(precision.empty() ? "float" : precision);
  if (row_.work.flops > 0) bound.flops_per_s = ceilings_.arithmetic(precision);
  if (row_.work.flops > 0 && bound.flops_per_s == 0)
    bound.missing = "the arithmetic ceiling of " + precision;
  else if (row_.work.bytes > 0 && bound.bytes_per_s == 0)
    bound.missing = "the bandwidth of the " + bound.level;
  const double memory_ns = bound.bytes_per_s > 0 ? row_.work.bytes / bound.bytes_per_s * 1e9 : 0;
  const double arithmetic_ns =
      bound.flops_per_s > 0 ? row_.work.flops / bound.flops_per_s * 1e9 : 0;
  bound.share_arithmetic = arithmetic_ns / t;
  bound.share_roofline = std::max(arithmetic_ns, memory_ns) / t;
  if (t < kLatencyBoundCalls * bound.latency_ns) {
    bound.by = "latency";
  } else if (bound.share_roofline > 0 && bound.missing.empty()) {
    const char* moving = bound.level == "memory" ? "memory" : "cache";
    bound.by = arithmetic_ns >= memory_ns ? "arithmetic" : moving;
  }
  row_.bound = bound;
  row_.stages.ceilings_ns += watch.lap_ns();
}

void RowBuilder::remeasure() {
  const Row before = row_;
  measure(row_.algorithm.candidate);
  if (options_.energy) measure_energy();
  record_clocks();
  row_.algorithm = before.algorithm;
  row_.notes = before.notes;  // those of a choice among candidates too
}

// A row above a limit: the limit and the row are both measured again (the row of a fleet stands).
// If the row stands, the limit was too low; if it does not, neither of its figures is to be
// trusted. Where the machine is too noisy to tell, the limit stays and the row says so.
void RowBuilder::apply_roofline() {
  if (!problem_.operation().is_limited_by_device(problem_)) return;
  compute_bound();
  if (!row_.bound.missing.empty())
    row_.notes.push_back("no roofline: " + row_.bound.missing + " could not be measured");
  if (row_.bound.share_roofline <= kMaxRoofline) return;
  const Samples before = *row_.samples;
  discard_exceeded_ceilings();
  if (!options_.fleet) remeasure();  // a fleet has measured it many times
  compute_bound();
  const bool repeats = medians_agree(before, *row_.samples);
  const std::string twice = options_.fleet ? "" : both_medians(before, *row_.samples);
  const std::string second =
      options_.fleet ? "" : "; the second, after which the ceiling was measured again, is kept";
  if (row_.bound.share_roofline <= kMaxRoofline) {
    if (!repeats)
      row_.notes.push_back(twice +
                           "the first was above the measured ceiling; the second, which is not, is "
                           "kept");
    return;
  }

  if (has_too_few_samples(before) && has_too_few_samples(*row_.samples)) {
    row_.notes.push_back(
        twice + "above the measured ceiling, with too few samples to tell which is off" + second);
  } else if (!is_precise(before) || !is_precise(*row_.samples)) {
    row_.notes.push_back(
        twice + "above the measured ceiling, on a machine too noisy to tell which is off" + second);
  } else if (repeats) {
    raise_ceilings();
    row_.notes.push_back(twice +
                         "steadily above the measured ceiling, which is raised to this row" +
                         (options_.fleet ? "" : "; the second, which the first confirms, is kept"));
  } else {
    throw RowFailure(Status::kMistrusted,
                     twice +
                         "above the measured ceiling, and the two differ; the second is kept, "
                         "without rates; other work on the machine does that");
  }
}

void RowBuilder::discard_exceeded_ceilings() {
  if (row_.bound.share_arithmetic > kMaxRoofline)
    ceilings_.invalidate_arithmetic(problem_.text("precision"));
  if (is_above_bandwidth()) ceilings_.invalidate_bandwidth(memory_level());
  row_.bound = Bound();  // what is kept of the row, should it end here, has no shares
}

bool RowBuilder::is_above_bandwidth() const {
  const double bytes_per_s = row_.work.bytes / row_.median_ns() * 1e9;
  return row_.bound.bytes_per_s > 0 && bytes_per_s > kMaxRoofline * row_.bound.bytes_per_s;
}

void RowBuilder::raise_ceilings() {
  const double t = row_.median_ns();
  if (row_.bound.share_arithmetic > kMaxRoofline)
    ceilings_.raise_arithmetic(problem_.text("precision"), row_.work.flops / t * 1e9);
  if (is_above_bandwidth()) ceilings_.raise_bandwidth(memory_level(), row_.work.bytes / t * 1e9);
  compute_bound();
}

MemoryLevel RowBuilder::memory_level() const {
  return ceilings_.level_of(row_.work.bytes, options_.cold);
}

}  // namespace deepbench
