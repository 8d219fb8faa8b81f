// The order of the steps.
#include "deepbench/run/row/make_row.hpp"

#include <utility>

#include "deepbench/core/operation.hpp"
#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/ceilings/ceilings.hpp"
#include "deepbench/run/row/assemble.hpp"
#include "deepbench/run/row/collective_timing.hpp"

namespace deepbench {
namespace {

constexpr double kEnergySpanNs = 2.2e9;  // energy counters are updated slowly
constexpr double kMostWatts = 1e5;       // of one device

// Measures with single calls what batches hide: the spread between the ranks of a collective, and
// whether it returns the same bits every time.
ExtraMetrics measure_extra_metrics(const RowContext& context, const Plan& plan, Trial* trial) {
  if (!trial) return {};  // the selection could not prepare the default again
  ExtraMetrics extras;
  if (context.measures_energy) extras = measure_energy(context, plan, *trial);
  if (!context.group) return extras;
  const auto add = [&](std::vector<Metric> metrics) {
    for (Metric& metric : metrics) extras.metrics.push_back(std::move(metric));
  };
  add(rank_metrics(*context.group, trial->time_single_calls()));
  add(bitwise_metric(*context.group, trial->repeat_calls()));
  return extras;
}

// Compares the measurements of one row with its ceilings.
class Assessor {
 public:
  Assessor(const RowContext& context, RowSteps& steps)
      : context_(context),
        steps_(steps),
        problem_(steps.request->problem),
        work_(problem_.operation().work(problem_)),
        is_announced_(!context.before_ceilings) {}

  // A hot row that is faster than its level allows must have kept bytes in the next smaller level,
  // through which all of its bytes pass, and is compared with that level instead. Where less than
  // half of the bytes can have stayed there, the ceiling of the row's own level is doubted first
  // and is measured again before the repetition.
  Assessment assess(const Measurement& measurement, bool is_repetition) {
    MemoryLevel level = context_.ceilings->level_of(work_.bytes, steps_.request->options.cold);
    Assessment found = assess_at(level, measurement);
    while (found.exceeds_bandwidth && found.inner_level_explains &&
           (is_repetition || work_.bytes <= 2 * double(level.inner_bytes))) {
      level = context_.ceilings->inner_level(level);
      const Assessment inner = assess_at(level, measurement);
      if (inner.bound.bytes_per_s == 0) break;
      found = inner;
    }
    return found;
  }

 private:
  Assessment assess_at(const MemoryLevel& level, const Measurement& measurement) {
    if (!is_announced_ &&
        context_.ceilings->needs_measuring(problem_, level, measurement.arithmetic)) {
      is_announced_ = true;
      context_.before_ceilings(assemble(steps_));
    }
    Stopwatch watch;
    const RowCeilings ceilings =
        context_.ceilings->for_problem(problem_, level, measurement.arithmetic);
    Work work = work_;
    work.transform_factor = measurement.transform_factor;
    work.arithmetic = measurement.arithmetic;
    const Assessment assessment = deepbench::assess(work, measurement.median_ns(), ceilings);
    steps_.stages.ceilings_ns += watch.lap_ns();
    return assessment;
  }

  const RowContext& context_;
  RowSteps& steps_;
  const Problem& problem_;
  const Work work_;
  bool is_announced_;  // whether the row was passed to before_ceilings
};

void doubt_exceeded_ceilings(Ceilings& ceilings, const Problem& problem,
                             const std::string& arithmetic, const Assessment& assessment) {
  if (assessment.exceeds_arithmetic)
    ceilings.doubt_arithmetic(arithmetic.empty() ? problem.text("precision") : arithmetic);
  if (assessment.exceeds_bandwidth) ceilings.doubt_bandwidth({assessment.bound.level});
}

void raise_exceeded_ceilings(Ceilings& ceilings, const Problem& problem,
                             const Assessment& assessment, const Row& row) {
  const double t = row.median_ns();
  if (assessment.raises_arithmetic)
    ceilings.raise_arithmetic(problem.text("precision"), row.work.flops / t * 1e9, row);
  if (assessment.raises_bandwidth)
    ceilings.raise_bandwidth({assessment.bound.level}, row.work.bytes / t * 1e9, row);
}

// A repetition that fails keeps its results so far, so that the row shows why.
void repeat_measurement(const RowContext& context, const Plan& plan, TrialSlot& slot,
                        RowSteps& steps) {
  const Attempt attempt = slot.measure(context, plan, steps.stages);
  Repetition repetition = {attempt.measurement, {}, {}};
  if (attempt.failure && slot.trial) steps.repetition = repetition;
  attempt.rethrow_failure();
  if (context.measures_energy) repetition.extras = measure_energy(context, plan, *slot.trial);
  repetition.clocks = observed_clocks(*repetition.measurement.samples);
  steps.repetition = std::move(repetition);
}

// Throws RowFailure for what no counter of a working device shows after `elapsed_ns`.
void require_possible_energy(double joules, double elapsed_ns) {
  std::string fault;
  if (joules < 0) fault = "runs back";
  if (joules == 0) fault = "stands still";
  if (joules > kMostWatts * elapsed_ns / 1e9) fault = "jumps";
  if (!fault.empty())
    throw RowFailure(Status::kFailed,
                     "energy: the backend gave an impossible answer: a counter that " + fault);
}

}  // namespace

Plan admit_or_throw(const RowRequest& request, const RowContext& context) {
  const auto admission = admit(request, context);
  if (const auto* const refusal = std::get_if<Refusal>(&admission))
    throw RowFailure(refusal->status, refusal->reason);
  return std::get<Plan>(admission);
}

void measure_first(const RowContext& context, const Plan& plan, TrialSlot& slot, RowSteps& steps) {
  const Attempt attempt = plan.options.once ? slot.run_once(context, plan, steps.stages)
                                            : slot.measure(context, plan, steps.stages);
  steps.found.measurement = attempt.measurement;
  attempt.rethrow_failure();
}

Sensors read_sensors(const RowContext& context, int device) {
  Sensors sensors;
  try {
    sensors.observed = context.backend.observe(device);
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    sensors.notes.push_back(failure.what());  // the measurement counts without them
  }
  return sensors;
}

Attributes observed_clocks(const Samples& samples) {
  Attributes clocks;
  if (samples.clock_mhz > 0) clocks.set("sm_clock_mhz", samples.clock_mhz);
  if (samples.rested_ns > 0) clocks.set("rest_ns", samples.rested_ns);
  if (samples.power_capped > 0) clocks.set("power_capped_samples", samples.power_capped);
  return clocks;
}

// Measures over a separate span, long enough for the counter. The gaps between batches count as
// well.
ExtraMetrics measure_energy(const RowContext& context, const Plan& plan, Trial& trial) {
  ExtraMetrics extras;
  const int device = int(plan.options.device);
  try {
    const double before = context.backend.energy_joules(device);
    const Trial::Span span = trial.run_for(kEnergySpanNs);
    const double spent = context.backend.energy_joules(device) - before;
    require_possible_energy(spent, span.elapsed_ns);
    extras.metrics.push_back({"energy", "J", "lower", spent / double(span.calls)});
  } catch (const RowFailure& failure) {
    if (failure.status() == Status::kDeviceLost) throw;
    extras.notes.push_back(std::string("no energy: ") + failure.what());
  }
  return extras;
}

// Measures the baselines, which are other problems, in `slot`; each takes the place of the row's
// kernel.
void measure_baselines(const RowContext& context, const Plan& plan, TrialSlot& slot,
                       RowSteps& steps) {
  if (!context.baselines) return;
  steps.found.baselines = context.baselines->measure(
      context, plan.problem.operation().baselines(plan.problem), plan.options, slot, steps.stages);
}

void assess_row(const RowContext& context, const RowRequest& request, const Plan* plan,
                TrialSlot& slot, RowSteps& steps) {
  const Problem& problem = request.problem;
  if (!context.ceilings || !request.options.ceilings) return;
  if (!problem.operation().is_limited_by_device(problem)) return;
  Ceilings& ceilings = *context.ceilings;
  Assessor assessor(context, steps);
  const Measurement& first = *steps.first_measurement();
  Assessment assessment = assessor.assess(first, false);
  if (!assessment.bound.missing.empty())
    steps.assessment_notes.push_back("no roofline: " + assessment.bound.missing +
                                     " could not be measured");
  if (!assessment.exceeds_roofline) {
    steps.bound = assessment.bound;
    return;
  }
  // Either a ceiling was measured too low, or the row is wrong: both are measured again.
  doubt_exceeded_ceilings(ceilings, problem, first.arithmetic, assessment);
  if (plan) repeat_measurement(context, plan->with_candidate(first.candidate), slot, steps);
  const Measurement* const second = steps.repetition ? &steps.repetition->measurement : nullptr;
  const Measurement& last = second ? *second : first;
  assessment = assessor.assess(last, true);
  const Verdict verdict = judge(first, second, assessment);
  if (verdict.doubt == Doubt::kLowCeiling)
    raise_exceeded_ceilings(ceilings, problem, assessment, assemble(steps));
  steps.bound = assessment.bound;
  if (verdict.doubt == Doubt::kMistrusted) throw RowFailure(Status::kMistrusted, verdict.text);
  if (!verdict.text.empty()) steps.assessment_notes.push_back(verdict.text);
}

void make_row(const RowContext& context, TrialSlot& slot, RowSteps& steps) {
  const RowRequest& request = *steps.request;
  std::optional<Plan> plan;
  collective_step(context.group, "check", [&] { plan = admit_or_throw(request, context); });
  if (request.options.check) return;
  if (context.on_admitted) context.on_admitted();
  measure_first(context, *plan, slot, steps);
  if (request.options.once) return;
  if (request.options.selects_algorithm()) {
    const Selection selection =
        select(context, *plan, *steps.found.measurement, slot, steps.stages);
    if (selection.failed) {
      // Shows the candidate with which the row ended, in place of the default.
      if (slot.trial) steps.found.measurement = selection.failed->measurement;
      selection.failed->rethrow_failure();
    }
    steps.selection = selection;
  }
  if (request.options.is_first_visit())
    steps.found.extras = measure_extra_metrics(context, *plan, slot.trial.get());
  steps.found.sensors = read_sensors(context, int(request.options.device));
  steps.found.clocks = observed_clocks(*steps.first_measurement()->samples);
  if (request.options.is_first_visit()) measure_baselines(context, *plan, slot, steps);
  assess_row(context, request, &*plan, slot, steps);
}

}  // namespace deepbench
