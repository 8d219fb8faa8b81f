// Choosing among a library's candidates: three samples each, the near ones again in turns.
#include "deepbench/run/row/algorithm_selection.hpp"

#include <algorithm>
#include <limits>
#include <memory>

#include "deepbench/core/status.hpp"
#include "deepbench/core/stopwatch.hpp"
#include "deepbench/group/group.hpp"
#include "deepbench/measure/statistics.hpp"
#include "deepbench/run/row/skipped_candidates.hpp"
#include "deepbench/run/row/trial.hpp"

namespace deepbench {
namespace {

constexpr size_t kMaxCandidates = 32;  // the library's own among them; exhaustive: no limit
constexpr int kSamples = 3, kRounds = 5;
constexpr int kMinRounds = 3;            // of them, where time is over
constexpr double kScreeningShare = 0.5;  // of the time for trying, for first looks
constexpr double kScreeningSpan = 0.2;  // of a span: what timing adds falls on all candidates alike
constexpr double kConfirmationRatio = 1.5;  // times the leader: worth another look
constexpr double kRejectionRatio = 4;       // times the leader: not worth samples,
constexpr double kSlowCallNs = 1e6;         // where each is so long, in nanoseconds
constexpr size_t kFinalists = 4;            // prepared at the same time
constexpr double kMinimumGain = 0.98;       // a switch needs more than 2 %

struct ScreenedCandidate {
  std::string id;
  double cost = 0;
};

// Of samples that may come in groups the mean: few of them have their median in one by chance.
double typical_ns(const std::vector<double>& samples, const Attributes& facts) {
  return facts.integer("shuffles") != 0 ? summarize(samples).mean : median(samples);
}

class AlgorithmSelector {
 public:
  AlgorithmSelector(const Backend& backend, const Problem& problem, const RunOptions& options,
                    double span_ns, double budget_ns, const std::vector<std::string>& incorrect,
                    Stages& stages)
      : backend_(backend),
        problem_(problem),
        options_(options),
        span_ns_(span_ns),
        budget_ns_(budget_ns),
        incorrect_(incorrect),
        stages_(stages) {
    options_.verify = false;  // the winner is verified when it is measured
  }

  AlgorithmSelection run() {
    std::vector<std::string> ids = other_candidates();
    if (!is_exhaustive() && ids.size() >= kMaxCandidates) ids.resize(kMaxCandidates - 1);
    spend([&] { screen(""); });
    for (const auto& id : ids) {
      if (has_spent_share(kScreeningShare)) {
        selection_.notes.push_back("candidates left untried for lack of time");
        break;
      }
      spend([&] { screen(id); });
    }
    skipped_in_screening_.add_notes_to(selection_.notes);
    if (screened_.size() > 1) confirm();
    skipped_in_confirmation_.add_notes_to(selection_.notes);
    return std::move(selection_);
  }

 private:
  bool is_exhaustive() const { return options_.algorithm == "exhaustive"; }

  // All candidates but the first, which is the library's default, and those known to be wrong.
  std::vector<std::string> other_candidates() {
    std::vector<std::string> ids;
    try {
      Attributes asked = options_.for_plugin("");
      if (!is_exhaustive()) asked.set("limit", int64_t{kMaxCandidates});
      ids = backend_.candidates(problem_, asked);
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      selection_.notes.push_back(failure.what());
    }
    if (!ids.empty()) {
      selection_.default_id = ids.front();
      ids.erase(ids.begin());
    }
    const auto is_incorrect = [&](const std::string& id) {
      return std::find(incorrect_.begin(), incorrect_.end(), id) != incorrect_.end();
    };
    ids.erase(std::remove_if(ids.begin(), ids.end(), is_incorrect), ids.end());
    return ids;
  }

  // Does `body`, on the time that there is for trying; compiling is none of it.
  template <class Body>
  void spend(Body body) {
    Stopwatch watch;
    const double compiling_ns = stages_.compiling_ns;
    body();
    spent_ns_ += watch.lap_ns() - (stages_.compiling_ns - compiling_ns);
  }

  bool has_spent_share(double share) const {
    return budget_ns_ > 0 &&
           value_of_rank_zero(options_.group, "choose", spent_ns_) > share * budget_ns_;
  }

  // A first look at one candidate.
  void screen(const std::string& id) {
    try {
      Trial trial(backend_, problem_, options_, id, stages_);
      const double call_ns =
          typical_ns(trial.sample(kSamples, kScreeningSpan * span_ns_, rejection_threshold_ns()),
                     trial.facts());
      screened_.push_back({id, cost_with_conversion_ns(call_ns, trial.facts(), options_)});
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      skipped_in_screening_.add(id, failure.what());
    }
    ++selection_.tried;
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
  };

  // Does `body`; where the candidate fails, it is left out of the final, and the row goes on.
  template <class Body>
  bool try_in_confirmation(const ScreenedCandidate& one, Body body) {
    try {
      body();
      return true;
    } catch (const RowFailure& failure) {
      if (failure.status() == Status::kDeviceLost) throw;
      skipped_in_confirmation_.add(one.id, failure.what());
      return false;
    }
  }

  // The near ones, ready at the same time, as far as there is room, sampled in turns, so that a
  // drift of the machine falls on all alike.
  std::vector<Finalist> sample_finalists(const std::vector<ScreenedCandidate>& contenders) {
    std::vector<Finalist> near;
    spend([&] {
      for (const auto& one : contenders)
        try_in_confirmation(one, [&] {
          near.push_back(
              {one, std::make_unique<Trial>(backend_, problem_, options_, one.id, stages_), {}});
        });
    });
    for (int round = 0; round < kRounds; ++round) {
      if (round >= kMinRounds && has_spent_share(1)) break;
      spend([&] { sample(near); });
    }
    return near;
  }

  // One sample of each; without those that fail.
  void sample(std::vector<Finalist>& near) {
    for (auto one = near.begin(); one != near.end();) {
      const bool good = try_in_confirmation(one->contender, [&] {
        for (double ns : one->trial->sample(1, span_ns_)) one->samples.push_back(ns);
      });
      one = good ? one + 1 : near.erase(one);
    }
  }

  double default_screening_cost() const {
    for (const auto& one : screened_)
      if (one.id.empty()) return one.cost;
    return 0;
  }

  // A library's default that has no room in the final stands with its first look.
  void confirm() {
    const std::vector<ScreenedCandidate> chosen = finalists();
    if (chosen.size() == 1 && chosen[0].id.empty()) return;  // the default, by far
    std::vector<Finalist> near = sample_finalists(chosen);
    double default_cost = default_screening_cost();
    for (auto& one : near) {
      const Attributes& facts = one.trial->facts();
      one.contender.cost = cost_with_conversion_ns(typical_ns(one.samples, facts), facts, options_);
      if (one.contender.id.empty()) default_cost = one.contender.cost;
    }
    std::sort(near.begin(), near.end(), [](const Finalist& x, const Finalist& y) {
      return x.contender.cost < y.contender.cost;
    });
    for (const auto& one : near)
      if (!one.contender.id.empty() &&
          (default_cost == 0 || one.contender.cost < kMinimumGain * default_cost))
        selection_.improvements.push_back(
            {one.contender.id, default_cost == 0 ? 1 : default_cost / one.contender.cost});
  }

  const Backend& backend_;
  const Problem& problem_;
  RunOptions options_;
  double span_ns_, budget_ns_;
  const std::vector<std::string>& incorrect_;
  Stages& stages_;
  double spent_ns_ = 0;
  SkippedCandidates skipped_in_screening_{"left out"},
      skipped_in_confirmation_{"left out of the final"};
  std::vector<ScreenedCandidate> screened_;
  AlgorithmSelection selection_;
};

}  // namespace

double cost_with_conversion_ns(double call_ns, const Attributes& facts, const RunOptions& options) {
  const std::string converted = facts.text("converted");
  if (converted.empty() || options.is_constant(converted)) return call_ns;
  return call_ns + facts.real("conversion_ns");
}

AlgorithmSelection select_algorithm(const Backend& backend, const Problem& problem,
                                    const RunOptions& options, double span_ns, double budget_ns,
                                    const std::vector<std::string>& incorrect, Stages& stages) {
  return AlgorithmSelector(backend, problem, options, span_ns, budget_ns, incorrect, stages).run();
}

}  // namespace deepbench
