// Three samples of each candidate, then an interleaved comparison of the fastest.
#include "deepbench/run/row/candidate_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/row/measurement.hpp"
#include "deepbench/run/row/skipped_candidates.hpp"
#include "deepbench/run/row/trial.hpp"

namespace deepbench {
namespace {

constexpr size_t kMaxCandidates = 32;  // including the default; `exhaustive` has no limit
constexpr int kSamples = 3, kRounds = 5;
constexpr int kMinRounds = 3;  // rounds that are run even when the budget is spent
// Shares of the budget: screening, and the part of it that making the list may take, so that a list
// that takes long to make leaves time to try its first candidates.
constexpr double kScreeningShare = 0.5, kListingShare = 0.25;
// Share of a span: timing overhead affects all candidates alike.
constexpr double kScreeningSpan = 0.2;
constexpr double kConfirmationRatio = 1.5;  // times the leader: the slowest that is compared
constexpr double kRejectionRatio = 4;       // times the leader: slower ones are timed only once
constexpr double kSlowCallNs = 1e6;         // unless their calls are shorter than this
constexpr size_t kFinalists = 4;            // beside the default, if it is none of them
constexpr double kMinimumGain = 0.98;       // a switch needs more than 2 %

struct ScreenedCandidate {
  std::string id;
  double cost = 0;
};

// Schedule perturbations divide the samples into groups. The median of few samples may fall into
// any group, so the mean is used.
double typical_ns(const std::vector<double>& samples, const Attributes& facts) {
  return facts.integer("schedule_sensitive") != 0 ? summarize(samples).mean : median(samples);
}

class Searcher {
 public:
  Searcher(const RowContext& context, const Plan& plan, double span_ns, double budget_ns,
           const std::vector<std::string>& incorrect, Stages& stages)
      : context_(context),
        plan_(plan),
        span_ns_(span_ns),
        budget_ns_(budget_ns),
        incorrect_(incorrect),
        stages_(stages) {
    plan_.options.verify = false;  // the winner is verified when it is measured in full
  }

  CandidateSearch run() {
    std::vector<std::string> ids;
    run_and_charge_budget([&] { ids = other_candidates(); });
    const double listing_ns = spent_ns_;
    if (!is_exhaustive() && ids.size() >= kMaxCandidates) ids.resize(kMaxCandidates - 1);
    const auto first = std::find(ids.begin(), ids.end(), plan_.options.first);
    if (first != ids.end()) std::rotate(ids.begin(), first, first + 1);
    search_.listed = 1 + int64_t(ids.size());
    run_and_charge_budget([&] { screen(""); });
    for (const auto& id : ids) {
      if (has_spent_screening_time(listing_ns)) {
        search_.notes.push_back("tried " + std::to_string(search_.tried.size()) + " of " +
                                std::to_string(search_.listed) + " candidates for lack of time");
        break;
      }
      run_and_charge_budget([&] { screen(id); });
    }
    skipped_in_screening_.add_notes_to(search_.notes);
    if (screened_.size() > 1) confirm();
    skipped_in_confirmation_.add_notes_to(search_.notes);
    search_.spent_ns = spent_ns_;
    return std::move(search_);
  }

 private:
  bool is_exhaustive() const { return plan_.options.algorithm == "exhaustive"; }

  // All candidates except the first, which is the library's default, and the incorrect ones.
  std::vector<std::string> other_candidates() {
    std::vector<std::string> ids;
    try {
      ids = list_candidates();
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      search_.notes.push_back(failure.what());
    }
    if (!ids.empty()) {
      search_.default_id = ids.front();
      ids.erase(ids.begin());
    }
    const auto is_incorrect = [&](const std::string& id) {
      return std::find(incorrect_.begin(), incorrect_.end(), id) != incorrect_.end();
    };
    ids.erase(std::remove_if(ids.begin(), ids.end(), is_incorrect), ids.end());
    return ids;
  }

  // As part of preparing, like the planning of a candidate: some libraries build what they list.
  std::vector<std::string> list_candidates() {
    Stopwatch watch;
    ListedCandidates listed;
    try {
      listed = plan_.backend_plans->first().candidates(is_exhaustive() ? 0 : kMaxCandidates);
    } catch (...) {
      stages_.prepare_ns += watch.lap_ns();
      throw;
    }
    const double took_ns = watch.lap_ns();
    stages_.prepare_ns += took_ns;
    stages_.compiling_ns += std::fmin(took_ns, listed.compiling_ns);
    return std::move(listed.ids);
  }

  // Charges the host time of `body`, except compilation, to the budget.
  template <class Body>
  void run_and_charge_budget(Body body) {
    Stopwatch watch;
    const double compiling_ns = stages_.compiling_ns;
    body();
    spent_ns_ += watch.lap_ns() - (stages_.compiling_ns - compiling_ns);
  }

  bool has_spent_share(double share, double uncharged_ns = 0) const {
    return budget_ns_ > 0 && value_of_rank_zero(context_.group, "choose",
                                                spent_ns_ - uncharged_ns) > share * budget_ns_;
  }

  bool has_spent_screening_time(double listing_ns) const {
    const double excess_ns = std::fmax(0.0, listing_ns - kListingShare * budget_ns_);
    return has_spent_share(kScreeningShare, excess_ns);
  }

  void screen(const std::string& id) {
    search_.tried.push_back({id, 0, {}, ""});
    try {
      Trial trial(context_, plan_.with_candidate(id), stages_);
      const double call_ns =
          typical_ns(trial.sample(kSamples, kScreeningSpan * span_ns_, rejection_threshold_ns()),
                     trial.facts());
      search_.tried.back().screened_ns = call_ns;
      screened_.push_back({id, cost_with_conversion_ns(call_ns, trial.facts(), plan_.options)});
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      skipped_in_screening_.add(id, failure.what());
      search_.tried.back().refused = failure.what();
    }
  }

  TriedCandidate& tried(const std::string& id) {
    return *std::find_if(search_.tried.begin(), search_.tried.end(),
                         [&](const TriedCandidate& each) { return each.id == id; });
  }

  double rejection_threshold_ns() const {
    double leader = std::numeric_limits<double>::infinity();
    for (const auto& one : screened_) leader = std::min(leader, one.cost);
    return std::max(kSlowCallNs, kRejectionRatio * leader);
  }

  std::vector<ScreenedCandidate> finalists() {
    std::sort(
        screened_.begin(), screened_.end(),
        [](const ScreenedCandidate& a, const ScreenedCandidate& b) { return a.cost < b.cost; });
    std::vector<ScreenedCandidate> near;
    for (const auto& one : screened_) {
      const bool is_default = one.id.empty();
      const bool fits =
          near.size() < kFinalists && one.cost <= kConfirmationRatio * screened_[0].cost;
      if (is_default || fits) near.push_back(one);
    }
    return near;
  }

  struct Finalist {
    ScreenedCandidate contender;
    std::unique_ptr<Trial> trial;
    std::vector<double> samples;
    Attributes facts;
  };

  // Runs `body`; a candidate that fails leaves the comparison, and the row continues.
  template <class Body>
  bool run_or_skip_candidate(const ScreenedCandidate& one, Body body) {
    try {
      body();
      return true;
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      skipped_in_confirmation_.add(one.id, failure.what());
      tried(one.id).refused = failure.what();
      return false;
    }
  }

  // Whether a finalist is prepared anew for each sample, while no other finalist is in memory.
  // After hundreds of calls, the L2 cache of an H100 still holds operands of those that used it
  // before. Where it has room for the operands of one finalist and not for those of all, kernels
  // that rely on it would seem up to twice as slow as alone. Kernels that a device prepares one
  // after the other use the same memory; those of a processor share their inputs, and each gets new
  // pages. Kernels of several ranks take long to prepare, and a sustained load must not pause.
  bool prepares_each_sample() const {
    const RunOptions& options = plan_.options;
    const Regime regime = requested_regime({plan_.problem, options}, context_.device);
    const bool has_own_memory = context_.device.integer("shares_host_memory") == 0;
    return regime.resident.value_or(false) && has_own_memory && !options.is_sustained() &&
           !context_.group;
  }

  // Samples the finalists in turns, so that a drift of the machine affects all of them alike. Those
  // that are prepared once stay in memory together, as far as it suffices.
  std::vector<Finalist> sample_finalists(const std::vector<ScreenedCandidate>& contenders) {
    const bool prepares_each = prepares_each_sample();
    std::vector<Finalist> near;
    for (const auto& one : contenders) near.push_back({one, nullptr, {}, {}});
    for (int round = 0; round < kRounds; ++round) {
      if (round >= kMinRounds && has_spent_share(1)) break;
      run_and_charge_budget([&] { take_sample_of_each(near, prepares_each); });
    }
    return near;
  }

  // Takes one sample of each finalist and drops those that fail.
  void take_sample_of_each(std::vector<Finalist>& near, bool prepares_each) {
    for (auto one = near.begin(); one != near.end();) {
      const bool good = run_or_skip_candidate(
          one->contender, [&] { prepares_each ? sample_prepared_anew(*one) : sample(*one); });
      one = good ? one + 1 : near.erase(one);
    }
  }

  void prepare(Finalist& one) {
    one.trial = std::make_unique<Trial>(context_, plan_.with_candidate(one.contender.id), stages_);
    one.facts = one.trial->facts();
  }

  void sample(Finalist& one) {
    if (!one.trial) prepare(one);
    one.samples.push_back(one.trial->sample(1, span_ns_).front());
  }

  // The first batch shows whether the kernel lowers the clock, so that the second one follows a
  // rest.
  void sample_prepared_anew(Finalist& one) {
    prepare(one);
    one.samples.push_back(one.trial->sample(2, span_ns_).back());
    one.trial.reset();
  }

  double default_screening_cost() const {
    for (const auto& one : screened_)
      if (one.id.empty()) return one.cost;
    return 0;
  }

  // Compares the finalists. A default for which memory does not suffice keeps its screening time.
  void confirm() {
    const std::vector<ScreenedCandidate> chosen = finalists();
    if (chosen.size() == 1 && chosen[0].id.empty()) return;  // no candidate comes near the default
    std::vector<Finalist> near = sample_finalists(chosen);
    double default_cost = default_screening_cost();
    for (auto& one : near) {
      tried(one.contender.id).compared_ns = one.samples;
      one.contender.cost =
          cost_with_conversion_ns(typical_ns(one.samples, one.facts), one.facts, plan_.options);
      if (one.contender.id.empty()) default_cost = one.contender.cost;
    }
    std::sort(near.begin(), near.end(), [](const Finalist& x, const Finalist& y) {
      return x.contender.cost < y.contender.cost;
    });
    for (const auto& one : near)
      if (!one.contender.id.empty() &&
          (default_cost == 0 || one.contender.cost < kMinimumGain * default_cost))
        search_.improvements.push_back(
            {one.contender.id, default_cost == 0 ? 1 : default_cost / one.contender.cost});
  }

  const RowContext& context_;
  Plan plan_;
  double span_ns_, budget_ns_;
  const std::vector<std::string>& incorrect_;
  Stages& stages_;
  double spent_ns_ = 0;
  SkippedCandidates skipped_in_screening_{"left out"},
      skipped_in_confirmation_{"left out of the final"};
  std::vector<ScreenedCandidate> screened_;
  CandidateSearch search_;
};

}  // namespace

double cost_with_conversion_ns(double call_ns, const Attributes& facts, const RunOptions& options) {
  const std::string converted = facts.text("converted");
  if (converted.empty() || options.is_constant(converted)) return call_ns;
  return call_ns + facts.real("conversion_ns");
}

CandidateSearch search_candidates(const RowContext& context, const Plan& plan, double span_ns,
                                  double budget_ns, const std::vector<std::string>& incorrect,
                                  Stages& stages) {
  return Searcher(context, plan, span_ns, budget_ns, incorrect, stages).run();
}

}  // namespace deepbench
