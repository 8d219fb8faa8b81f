// Measuring the baselines of a row as ordinary trials.
#include "deepbench/run/row/baselines.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <utility>

#include "deepbench/core/status.hpp"
#include "deepbench/run/row/make_row.hpp"

namespace deepbench {
namespace {

constexpr double kTimeLimitS = 1;     // limit of one baseline, within that of the row
constexpr double kMaxExpectedS = 10;  // a baseline with a longer call is not measured

// A baseline does not share the row's library and algorithm, which belong to another operation.
RunOptions baseline_options(const RunOptions& row, const std::string& candidate) {
  RunOptions options = row;
  options.sustained = row.is_sustained();
  options.soak = 0;
  options.library.clear();
  options.algorithm = candidate.empty() ? "default" : candidate;
  options.constant.clear();
  return options;
}

// Everything that the time of a baseline depends on.
Attributes baseline_conditions(const RunOptions& options) {
  Attributes conditions = options.for_plugin();
  conditions.set("candidate", options.named_candidate());
  conditions.set("launch", int64_t{options.launch});
  conditions.set("sustained", int64_t{options.sustained});
  conditions.set("samples", options.samples);
  conditions.set("time_limit", options.time_limit_s);
  conditions.set("verify", int64_t{options.verify});
  return conditions;
}

// The expected time by the rate that the backend estimates for the operation; 0 if it estimates
// none.
double expected_call_s(const Problem& problem, const RunOptions& options, const Attributes& backend,
                       const Attributes& device) {
  const std::string name = "estimate.flops_per_s." + problem.op();
  double rate = backend.real(name + "." + problem.text("precision"), backend.real(name));
  if (rate <= 0) return 0;
  if (backend.integer("estimate.per_thread") != 0)
    rate *= double(options.threads > 0 ? options.threads : device.integer("threads", 1));
  return problem.operation().work(problem).flops / rate;
}

// Throws RowFailure.
Measurement measure_baseline(const RowContext& context, const RowRequest& request,
                             const Attributes& backend, TrialSlot& slot, Stages& stages) {
  const double expected_s =
      expected_call_s(request.problem, request.options, backend, context.device);
  if (expected_s > kMaxExpectedS)
    throw RowFailure(Status::kUnsupported,
                     "one call would take about " + to_text(std::round(expected_s)) + " s");
  slot.trial.reset();  // frees the memory of the row's kernel for the baseline
  Plan plan = admit_or_throw(request, context);
  const double limit_s = plan.options.for_measuring(context.device).time_limit_ns / 1e9;
  plan.options.time_limit_s = std::min(limit_s, kTimeLimitS);
  // The ranks of a fleet are synchronized in the row and not in its baselines.
  RowContext alone = context;
  alone.hooks = nullptr;
  const Attempt attempt = slot.measure(alone, plan, stages);
  attempt.rethrow_failure();
  return attempt.measurement;
}

}  // namespace

Baselines::Measured Baselines::measure_or_reuse(const RowContext& context, const Baseline& baseline,
                                                const RunOptions& row, TrialSlot& slot,
                                                Stages& stages) const {
  const Problem problem = Problem::parse(baseline.problem);
  const Attributes backend = context.backend.describe();
  const RunOptions options =
      baseline_options(row, backend.text("baseline_candidate." + problem.op()));
  const Attributes conditions = baseline_conditions(options);
  for (const Measured& known : last_)
    if (known.problem == baseline.problem && known.conditions == conditions) return known;
  const Measurement made = measure_baseline(context, {problem, options}, backend, slot, stages);
  return {baseline.problem, conditions, made.median_ns(), made.samples->per_call_ns,
          made.library + ", " + made.algorithm};
}

BaselineTimes Baselines::measure(const RowContext& context, const std::vector<Baseline>& baselines,
                                 const RunOptions& row, TrialSlot& slot, Stages& stages) {
  BaselineTimes result;
  std::vector<Measured> all;
  for (const Baseline& baseline : baselines) try {
      all.push_back(measure_or_reuse(context, baseline, row, slot, stages));
      result.times.push_back({baseline.metric, baseline.speedup, all.back().median_ns,
                              all.back().samples_ns, baseline.name, baseline.most_speed});
      result.notes.push_back(baseline.name + ": " + all.back().kernel);
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      if (baseline.optional && failure.status() == Status::kUnsupported) continue;
      result.notes.push_back("no " + baseline.name + ": " + failure.what());
    } catch (const std::bad_alloc&) {
      result.notes.push_back("no " + baseline.name + ": out of host memory");
    }
  last_ = std::move(all);
  return result;
}

}  // namespace deepbench
