// Searching the candidates, then measuring the winner in full.
#include "deepbench/run/row/select.hpp"

#include <algorithm>

#include "deepbench/core/status.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/run/row/candidate_search.hpp"
#include "deepbench/run/row/collective_timing.hpp"
#include "deepbench/run/row/format_time.hpp"
#include "deepbench/run/row/skipped_candidates.hpp"

namespace deepbench {
namespace {

// As a multiple of the host time of the default in all visits. Only the first visit searches.
constexpr double kSearchBudget = 2;

// Excludes compilation that the disk cache keeps, so that a second run on the machine has the same
// budget.
double spent_ns(const Stages& stages) {
  return stages.prepare_ns - stages.compiling_ns + stages.verify_ns + stages.measure_ns;
}

double time_with_conversion_ns(const Measurement& measurement) {
  const auto& conversion = measurement.conversion;
  const bool repeated = conversion && !conversion->constant;
  return measurement.median_ns() + (repeated ? conversion->ns : 0);
}

class Selector {
 public:
  Selector(const RowContext& context, const Plan& plan, const Measurement& default_measurement,
           TrialSlot& slot, Stages& stages)
      : context_(context),
        plan_(plan),
        default_(default_measurement),
        slot_(slot),
        stages_(stages),
        default_spent_ns_(spent_ns(stages)) {
    selection_.measurement = default_;
    selection_.default_ns = default_.median_ns();
    selection_.default_samples_ns = default_.samples->per_call_ns;
    selection_.default_name = default_.algorithm;
    if (plan_.options.algorithm == "best")
      selection_.budget_ns = kSearchBudget * double(plan_.options.visits) * default_spent_ns_ +
                             plan_.options.budget_s * 1e9;
  }

  // A candidate whose result is wrong is excluded, and the search is repeated without it: a slower
  // candidate may still beat the default.
  Selection run() {
    for (bool found = false, more = true; !found && more;) {
      double budget_ns = 0;
      if (plan_.options.algorithm == "best") {
        budget_ns = remaining_budget_ns();
        if (budget_ns <= 0) break;
      }
      const CandidateSearch search = search_candidates(
          context_, plan_.with_candidate(""), span_ns(), budget_ns, incorrect_.ids(), stages_);
      record_search(search);
      const size_t incorrect_before = incorrect_.ids().size();
      found = measure_first_correct(search.improvements);
      more = incorrect_.ids().size() > incorrect_before;
    }
    incorrect_.add_notes_to(selection_.notes);
    return std::move(selection_);
  }

 private:
  double span_ns() const {
    const double mine_ns = plan_.options.for_measuring(context_.device).min_span_ns;
    return -smallest_of_ranks(context_.group, "span", {-mine_ns}).at(0);
  }

  double remaining_budget_ns() const {
    const double searching_ns = spent_ns(stages_) - default_spent_ns_;
    return value_of_rank_zero(context_.group, "budget", selection_.budget_ns - searching_ns);
  }

  // If several searches tried a candidate, the last one counts.
  void record_search(const CandidateSearch& search) {
    selection_.searched_ns += search.spent_ns;
    for (const TriedCandidate& tried : search.tried) {
      const auto known =
          std::find_if(selection_.tried.begin(), selection_.tried.end(),
                       [&](const TriedCandidate& one) { return one.id == tried.id; });
      if (known == selection_.tried.end())
        selection_.tried.push_back(tried);
      else
        *known = tried;
    }
    if (!incorrect_.ids().empty()) return;
    selection_.listed = search.listed;
    selection_.default_candidate = search.default_id;
    selection_.notes = search.notes;
  }

  // Measures the candidates in turn up to the first one whose result is correct, or whose failure
  // ends the row. Returns whether there is one; the search then ends, even if the candidate's gain
  // is not confirmed and the default is kept.
  bool measure_first_correct(const std::vector<Improvement>& improvements) {
    for (const auto& [candidate, gain] : improvements) {
      Attempt attempt = slot_.measure(context_, plan_.with_candidate(candidate), stages_);
      if (attempt.failure && leave_out(candidate, attempt)) continue;
      if (attempt.failure) {
        selection_.failed = std::move(attempt);
        return true;
      }
      if (is_confirmed(attempt.measurement)) {
        selection_.measurement = std::move(attempt.measurement);
        selection_.gain = gain;
      } else {
        prepare_default_again();
      }
      return true;
    }
    if (!improvements.empty()) prepare_default_again();
    return false;
  }

  // Records a failed candidate and returns true, or returns false for a failure that ends the row.
  bool leave_out(const std::string& candidate, const Attempt& attempt) {
    try {
      attempt.rethrow_failure();
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) return false;
      incorrect_.add(candidate, failure.what());
      for (TriedCandidate& each : selection_.tried)
        if (each.id == candidate) each.refused = failure.what();
      return true;
    } catch (...) {
    }
    return false;
  }

  // If the machine changed after the interleaved comparison, the full measurements decide.
  bool is_confirmed(const Measurement& measurement) {
    const double ns = value_of_rank_zero(context_.group, "confirm against default",
                                         time_with_conversion_ns(measurement));
    const double default_ns = value_of_rank_zero(context_.group, "confirm against default",
                                                 time_with_conversion_ns(default_));
    if (ns <= default_ns) return true;
    selection_.notes.push_back("candidate " + measurement.candidate +
                               " was faster in turns, but took " + format_time(ns, default_ns) +
                               " against " + format_time(default_ns, default_ns) +
                               " where each was measured in full: the library's default is kept");
    return false;
  }

  // The next step measures energy and single calls with the default algorithm, and needs its
  // prepared kernel. If that cannot be prepared again, the row has neither of them.
  void prepare_default_again() {
    if (!context_.measures_energy && !context_.group) return;
    slot_.trial.reset();
    try {
      slot_.trial = std::make_unique<Trial>(context_, plan_.with_candidate(""), stages_);
      slot_.trial->resume(*default_.samples);
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      slot_.trial.reset();
      selection_.notes.push_back(std::string("without energy or single calls: ") + failure.what());
    }
  }

  const RowContext& context_;
  const Plan& plan_;
  const Measurement& default_;
  TrialSlot& slot_;
  Stages& stages_;
  const double default_spent_ns_;
  SkippedCandidates incorrect_{"left out"};
  Selection selection_;
};

}  // namespace

Selection select(const RowContext& context, const Plan& plan,
                 const Measurement& default_measurement, TrialSlot& slot, Stages& stages) {
  return Selector(context, plan, default_measurement, slot, stages).run();
}

}  // namespace deepbench
